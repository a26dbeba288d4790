// Components that live on after the run that mounted them: what is kept of them in the state, and how they are set going.
//
//   Z1. A component that lives on is recorded before the run above it commits, at its own path, and the record goes with the component: so a
//       process that starts anew finds all of them, and none that was deleted.
//   Z2. It is set going by a `watch` run (module-live.ts), after the commit of the run above. Its updates are updates of their own (A8).
//   Z3. Set going again with the same input and code, the one that goes on goes on; with others it is replaced.
//   Z4. Where nothing stays (`fairlead dev --once`), each is run once in every cycle of its source and never set going.
import type { Json } from '../protocol/index.ts';
import type { LiveMounting } from '../sdk/index.ts';
import type { Life, ModuleInput } from './job.ts';
import { componentFingerprint, exportedName, moduleRequest, type Wanted } from './module-request.ts';
import type { CompiledModule } from './plan.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { Tally } from './tally.ts';

const PAGE = 500;

/** What the state keeps at the path of a component that lives on. */
export type LiveRecord = {
  readonly version: string;
  readonly fingerprint: string;
  readonly input: ModuleInput;
  readonly key?: string;
  readonly sizeBytes: number;
  /** What user code wrote (`writeState`). */
  readonly state?: Json;
};

/** Which runs a process sets going; shared by all runs of an engine. */
export interface LiveSettings {
  /** False: nothing stays (Z4). */
  readonly isOn: boolean;
  /** Sources whose components of earlier processes go on again. */
  readonly resumed: Set<string>;
}

/** The life that was asked for, by names instead of functions. */
export function lifeOf(step: CompiledModule, { key, life }: LiveMounting): Life {
  return life.kind === 'each' ? { ...life, each: exportedName(step, life.each, key) } : life;
}

/** Value of the run of a view: entries that failed are told one by one and stop no other. */
export interface EachValue {
  readonly failed: number;
}

export const failedEntriesOf = (life: Life, value: unknown): number =>
  life.kind === 'each' ? (value as EachValue).failed : 0;

/** Records what lives on (Z1). */
export async function recordLive({ order, cancellation }: Run, { state }: Services, wanted: Wanted): Promise<void> {
  const before = (await cancellation.race(state.cursor(wanted.path))) as LiveRecord | undefined;
  const version = versionOf(wanted);
  if (before?.version === version) return;
  const record: LiveRecord = {
    version,
    fingerprint: wanted.fingerprint,
    input: wanted.input,
    sizeBytes: wanted.sizeBytes,
    ...(order.key === undefined ? {} : { key: order.key }),
    ...(before?.state === undefined ? {} : { state: before.state }),
  };
  await cancellation.race(state.setCursor(wanted.path, record));
}

const versionOf = ({ hash, fingerprint }: Pick<Wanted, 'hash' | 'fingerprint'>): string => `${hash} ${fingerprint}`;

/** Sets one going whose first run is committed (Z2). */
export function startLive(run: Run, { plan, live }: Services, { path, input, hash, fingerprint }: Wanted): void {
  if (!live.isOn) return;
  const runnerClass = plan.modules[input.module]?.runnerClass;
  watch(run, {
    path,
    version: versionOf({ hash, fingerprint }),
    input,
    runnerClass,
    key: run.order.key,
    isCaughtUp: true,
  });
}

interface Going {
  readonly path: string;
  readonly version: string;
  readonly input: ModuleInput;
  readonly key: string | undefined;
  readonly runnerClass: string | undefined;
  readonly isCaughtUp: boolean;
}

/** The run that mounts it does not wait for it. */
function watch(run: Run, { path, version, input, key, runnerClass, isCaughtUp }: Going): void {
  const { source } = run.order;
  run.mounts.mountApart({
    path,
    kind: 'watch',
    version,
    input: { ...input, isCaughtUp },
    ...(source === undefined ? {} : { source }),
    ...(key === undefined ? {} : { key }),
    ...(runnerClass === undefined ? {} : { runnerClass }),
  });
}

/** Sets going what earlier processes left below the run's component, once a process (Z1); or runs it once (Z4). */
export async function resumeLive(run: Run, services: Services, tally: Tally): Promise<void> {
  const { state, live } = services;
  const { path } = run.order;
  if (live.isOn && live.resumed.has(path)) return;
  live.resumed.add(path);
  for (let after = ''; ; ) {
    const page = await run.cancellation.race(state.cursors(path, after, PAGE));
    for (const cursor of page)
      await resumeOne(run, services, tally, cursor.path, cursor.value as unknown as LiveRecord);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.path;
  }
}

async function resumeOne(run: Run, services: Services, tally: Tally, path: string, record: LiveRecord): Promise<void> {
  const { version, fingerprint, input, key, sizeBytes } = record;
  const step = services.plan.modules[input.module];
  // With other code the component above is run again, and says anew what lives on.
  if (step === undefined || componentFingerprint(step, input.call, input.life) !== fingerprint) return;
  const { runnerClass } = step;
  if (services.live.isOn) return watch(run, { path, version, input, key, runnerClass, isCaughtUp: false });
  while (!run.mounts.hasRoom) await run.cancellation.race(run.mounts.change());
  const order = { ...run.order, ...(key === undefined ? {} : { key }) };
  run.mounts.mount(moduleRequest({ path, input, hash: '', fingerprint, sizeBytes }, order, step), (outcome) => {
    if (outcome.kind === 'failed') tally.count('failed');
  });
}
