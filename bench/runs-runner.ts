// A runner process for the benchmark of runs: the real session and link, an engine whose runs only take time.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NO_COUNTS, type RunNumber, type Runner, type RunOrder, type Uplink } from '../runner/protocol/index.ts';
import { connect } from '../runner/session/index.ts';

const [address, folder, name, slots] = process.argv.slice(2) as [string, string, string, string];

interface Work {
  readonly children: number;
  readonly eachMs: number;
  readonly window: number;
}

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

  start(order: RunOrder): void {
    if (order.kind === 'cycle') this.#begin(order);
    else {
      const eachMs = Number(order.version ?? 0);
      const end = () => this.uplink.exited(order.token.run, DONE);
      if (eachMs === 0) end();
      else setTimeout(end, eachMs);
    }
  }

  cardGranted(): void {}

  cardRefused(): void {}

  mountEnded(parent: RunNumber): void {
    const root = this.#roots.get(parent);
    if (root === undefined) return;
    root.done++;
    if (root.work.eachMs > 0 && root.done % 4 === 0) this.#tell(parent, root);
    if (root.mounted < root.work.children) this.#mount(parent, root);
    else if (root.done === root.work.children) {
      this.#roots.delete(parent);
      this.uplink.exited(parent, DONE);
    }
  }

  cancel(): void {}
  renewed(): void {}
  mountStarted(): void {}

  #begin(order: RunOrder): void {
    const root = { work: order.input as unknown as Work, order, mounted: 0, done: 0 };
    this.#roots.set(order.token.run, root);
    for (let i = 0; i < Math.min(root.work.window, root.work.children); i++) this.#mount(order.token.run, root);
  }

  #mount(run: RunNumber, root: Root): void {
    const mount = root.mounted++;
    const key = `file-${mount}`;
    const path = `${root.order.update}/${key}`;
    const { eachMs } = root.work;
    // Staggered, so that slots free one after another.
    const ms = eachMs >= 1_000 && mount < 1_024 ? (mount % 1_000) + 1 : eachMs;
    this.uplink.mount(run, { mount, path, kind: 'item', source: root.order.source!, key, version: `${ms}` });
  }

  #tell(run: RunNumber, { work, done }: Root): void {
    this.uplink.progress(run, { listed: true, total: work.children, done, counts: NO_COUNTS });
  }
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
process.on('disconnect', () => process.exit());
