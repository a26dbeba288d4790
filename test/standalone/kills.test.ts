// kill -9 of runners and of the operator at random moments, under load: executing runs stay within the limit, nothing executes twice at one
// time, and the rows come out as those of a run that was never disturbed. Real processes, real TLS, both stores.
// FAIRLEAD_KILL_ROUNDS=25 for the long form (`make test-cluster`); FAIRLEAD_KILL_SEED plays the same choices again.
import { expect, onTestFinished, test } from 'vitest';
import { Random } from '../simulation/random.ts';
import { eventually } from '../support/eventually.ts';
import { testPostgres } from '../support/postgres.ts';
import { mostAtOnce, twiceAtOnce } from './executions.ts';
import { StandaloneField } from './field.ts';

/** Of each test. */
const ROUNDS = Number(process.env.FAIRLEAD_KILL_ROUNDS ?? 1);
const SEED = Number(process.env.FAIRLEAD_KILL_SEED ?? Date.now() % 1_000_000);
const TIMEOUT_MS = 240_000 + ROUNDS * 30_000;
const FILES = 60;
const LIMIT = 4;

const postgres = await testPostgres('kills of several runners on Postgres');

test('F64: on SQLite, one runner and the operator are killed again and again', { timeout: TIMEOUT_MS }, async () => {
  await killAgainAndAgain(new StandaloneField({ limit: LIMIT, runners: 1, eachMs: 15 }));
});

test.skipIf(postgres === undefined)(
  'on Postgres, two runners and the operator are killed again and again',
  { timeout: TIMEOUT_MS },
  async () => {
    const url = postgres!.url;
    await killAgainAndAgain(new StandaloneField({ limit: LIMIT, runners: 2, postgresUrl: url, eachMs: 15 }));
  },
);

async function killAgainAndAgain(field: StandaloneField): Promise<void> {
  process.stderr.write(`kill rounds: ${ROUNDS}, FAIRLEAD_KILL_SEED=${SEED}\n`);
  onTestFinished(() => field.close());
  const random = new Random(SEED);
  for (let i = 0; i < FILES; i++) field.write(i % 2 === 0 ? 'watched' : 'listed', `file-${i}`, `${i} at first`);
  await field.startOperator();
  await field.settled();
  for (let round = 0; round < ROUNDS; round++) {
    change(field, random, round);
    await untilMoreExecuted(field, random.integer(1, 12));
    await kill(field, random);
    const executions = field.executions();
    expect(mostAtOnce(executions), `round ${round}, seed ${SEED}`).toBeLessThanOrEqual(LIMIT);
    expect(twiceAtOnce(executions), `round ${round}, seed ${SEED}`).toEqual([]);
  }
  await field.settledAfterKills();
  expect(await field.rows()).toEqual(await field.cleanRows());
  expect(mostAtOnce(field.executions()), 'the pool was full').toBe(LIMIT);
}

/** Half of the files get another text, some go, some come back. */
function change(field: StandaloneField, random: Random, round: number): void {
  for (let i = 0; i < FILES; i++) {
    const source = i % 2 === 0 ? 'watched' : 'listed';
    if (random.chance(0.05)) field.remove(source, `file-${i}`);
    else if (random.chance(0.5)) field.write(source, `file-${i}`, `${i} in round ${round}`);
  }
}

async function untilMoreExecuted(field: StandaloneField, more: number): Promise<void> {
  const before = field.executions().length;
  await eventually(
    () => field.executions().length,
    (now) => now >= before + more,
    `${more} more runs begin`,
  );
}

async function kill(field: StandaloneField, random: Random): Promise<void> {
  const dice = random.next();
  if (dice < 0.65) {
    const runners = field.runners();
    if (runners.length > 0) field.killRunner(random.pick(runners));
  }
  if (dice > 0.45) {
    await field.killOperator();
    await field.startOperator();
  }
}
