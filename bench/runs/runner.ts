// A runner process for the benchmark of runs: the real session and link, an engine whose runs only take time.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NO_COUNTS, type RunNumber, type Runner, type RunOrder, type Uplink } from '../../runner/protocol/index.ts';
import { connect } from '../../runner/session/index.ts';
import type { Work } from './field.ts';
import { machineMs } from './machine-ms.ts';

const [address, folder, name, slots] = process.argv.slice(2) as [string, string, string, string];

interface Root {
  readonly work: Work;
  readonly order: RunOrder;
  mounted: number;
  done: number;
}

const DONE = { kind: 'done', counts: NO_COUNTS } as const;

class TimedEngine implements Runner {
  uplink!: Uplink;
  readonly #roots = new Map<RunNumber, Root>();
  readonly #held = new Map<RunNumber, () => void>();
  readonly #toEnd = new Set<RunNumber>();

  start(order: RunOrder): void {
    if (order.kind === 'cycle') this.#begin(order);
    else if (order.parentRun === undefined) this.#startKey(order);
    else this.#endAfter(Number(order.version), order.token.run);
  }

  cardGranted(): void {}

  cardRefused(): void {}

  mountEnded(parent: RunNumber): void {
    const root = this.#roots.get(parent);
    if (root === undefined) return;
    root.done++;
    if (root.work.window > 0 && root.mounted < root.work.children) this.#mount(parent, root);
    else if (root.done === root.work.children) {
      this.#roots.delete(parent);
      this.uplink.exited(parent, DONE);
    }
  }

  cancel(): void {}
  renewed(): void {}
  mountStarted(): void {}

  /** A per-key update: it says when it started. */
  #startKey(order: RunOrder): void {
    const { eachMs, blocksMs } = order.input as { readonly eachMs: number; readonly blocksMs?: number };
    if (blocksMs !== undefined) block(blocksMs);
    this.#endAfter(eachMs, order.token.run, { ...DONE, value: machineMs() });
  }

  #endAfter(ms: number, run: RunNumber, outcome: typeof DONE & { value?: number } = DONE): void {
    const end = () => this.uplink.exited(run, outcome);
    if (ms < 0) this.#endWhenTold(run, end);
    else if (ms === 0) end();
    else setTimeout(end, ms);
  }

  /** Runs without a time of their own end when they are told to, which may be before they begin. */
  #endWhenTold(run: RunNumber, end: () => void): void {
    if (this.#toEnd.delete(run)) end();
    else this.#held.set(run, end);
  }

  tellToEnd(run: RunNumber): void {
    const end = this.#held.get(run);
    if (end === undefined) this.#toEnd.add(run);
    this.#held.delete(run);
    end?.();
  }

  #begin(order: RunOrder): void {
    const root = { work: order.input as unknown as Work, order, mounted: 0, done: 0 };
    const { run } = order.token;
    this.#roots.set(run, root);
    if (root.work.window === 0) this.#mountOneByOne(run, root);
    else for (let i = 0; i < Math.min(root.work.window, root.work.children); i++) this.#mount(run, root);
  }

  /** One in each turn of the event loop. */
  #mountOneByOne(run: RunNumber, root: Root): void {
    this.#mount(run, root);
    if (root.mounted < root.work.children) setImmediate(() => this.#mountOneByOne(run, root));
  }

  #mount(run: RunNumber, root: Root): void {
    const mount = root.mounted++;
    const key = `file-${mount}`;
    const path = `${root.order.update}/${key}`;
    const { eachMs } = root.work;
    // The first ones of a long backlog are staggered, so that slots free one after another.
    const ms = eachMs >= 1_000 && mount < 1_024 ? (mount % 1_000) + 1 : eachMs;
    this.uplink.mount(run, { mount, path, kind: 'item', source: root.order.source!, key, version: `${ms}` });
  }
}

/** As user code that never yields. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const engine = new TimedEngine();
const { session } = connect({
  engine,
  identity: { runner: name, pipeline: 'bench/runs', runnerClass: 'cpu', slots: Number(slots), gpus: 0 },
  addresses: [address],
  ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
  tokenFile: join(folder, 'token'),
  onSpecs: () => {},
});
engine.uplink = session.uplink;
process.on('message', (message) => {
  if (typeof message === 'number') {
    engine.tellToEnd(message);
    return;
  }
  const { user, system } = process.cpuUsage();
  process.send!((user + system) / 1000);
});
process.on('disconnect', () => process.exit());
