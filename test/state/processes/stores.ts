// A state with a target that lives in it, in a SQLite file or in a Postgres database.
import { systemClock } from '../../../runner/clock.ts';
import type { StateStore, Target } from '../../../runner/execute/index.ts';
import { PostgresState, SqliteState } from '../../../runner/state/index.ts';
import { PostgresTarget, SqliteTarget } from '../../../runner/targets/index.ts';

const TARGET = { name: 'vectors', table: 'chunks', pipeline: 'search/code' };

export interface Stores {
  readonly state: StateStore;
  readonly target: Target;
  readonly epoch: number;
}

/** `place`: a file, or a URL of Postgres. The state is open and the target prepared. */
export async function openStores(place: string): Promise<Stores> {
  const made = place.startsWith('postgres://') ? inPostgres(place) : inSqlite(place);
  const epoch = await made.state.open('next');
  await made.target.prepare();
  return { ...made, epoch };
}

function inSqlite(file: string) {
  const target = new SqliteTarget(TARGET);
  return { target, state: new SqliteState({ file, clock: systemClock, shared: [target] }) };
}

function inPostgres(url: string) {
  const target = new PostgresTarget({ ...TARGET, schema: 'search' });
  return { target, state: new PostgresState({ url, schema: 'fairlead', pipeline: 'search/code', shared: [target] }) };
}
