// The fairness of a small update beside a big one, in time: tasks of 10 ms on two runners of four slots each, over links that take their time, by
// timers that are late. On a virtual clock, so that every figure is one of the tree and of dispatch, and none of this machine. With real
// processes: test/gateway/fairness.test.ts, where the order of ends is played, and in real time `npm run bench -- runs`.
//   Why 56: all tasks of the big one end together, so it goes in waves of eight. One wave is over before the small root has a slot, most of a second
//   one while it lists, and forty tasks go by in the ten waves that the small one needs for its own at half of the slots.
// FAIRLEAD_FAIR_SEEDS makes it longer.
import { expect, test } from 'vitest';
import { Dispatcher, type RunView, type UpdateStart } from '../../operator/dispatch/index.ts';
import { NO_COUNTS, type RunNumber, type Runner, type RunOrder, type Uplink } from '../../runner/protocol/index.ts';
import { Random } from '../simulation/random.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const BIG = 400;
const SMALL = 40;
const EACH_MS = 10;
const SLOTS = 8;
const SEEDS = Number(process.env.FAIRLEAD_FAIR_SEEDS ?? 4);

interface Timing {
  readonly seed: number;
  /** There or back. */
  readonly linkMs: number;
  /** How late tasks end, at the most. */
  readonly lateMs: number;
  /** Between two mounts of a root run; 0: all in one turn. */
  readonly mountEveryMs: number;
}

test.each([
  ['together', 'cycle'],
  ['one by one', 'cycle'],
  ['together', 'keys'],
  ['one by one', 'keys'],
] as const)(
  'F44: mounted %s, a small %s of 40 tasks ends with at most 56 of 400 done, on fast and slow links',
  (mounting, small) => {
    const mountEveryMs = mounting === 'together' ? 0 : 0.05;
    for (const linkMs of [0.1, 0.3, 1, 3])
      for (const lateMs of [0, 0.5, 2])
        for (let seed = 1; seed <= SEEDS; seed++) {
          const timing = { seed, linkMs, lateMs, mountEveryMs };
          const done = new Field(timing).bigDoneWhenSmallEnds(small);
          expect(done, JSON.stringify(timing)).toBeLessThanOrEqual(56);
          expect(done, `the big one had its half: ${JSON.stringify(timing)}`).toBeGreaterThanOrEqual(36);
        }
  },
);

class Field {
  readonly clock = new VirtualClock(0);
  readonly dispatcher: Dispatcher;
  readonly #timing: Timing;
  readonly #random: Random;
  #bigGranted = 0;
  #bigDone = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
    this.#random = new Random(timing.seed);
    this.dispatcher = new Dispatcher({
      clock: this.clock,
      slotsMax: SLOTS,
      epoch: 1,
      defer: (flush) => void this.clock.after(0, flush),
      events: {
        granted: (run) => void (isBig(run) && this.#bigGranted++),
        ended: (run) => void (isBig(run) && this.#bigDone++),
      },
    });
    for (const name of ['big', 'small']) this.dispatcher.openSource({ name });
    for (const name of ['a', 'b']) {
      const runner = new TimedRunner(this.clock, () => this.#taskMs(), timing.mountEveryMs);
      const down = this.#link();
      const start = { name, runnerClass: 'cpu', slots: SLOTS / 2, runner: behind(down, runner) };
      const { uplink } = this.dispatcher.addRunner(start);
      runner.uplink = behind(this.#link(), uplink);
    }
  }

  /** The small one comes when the big one has all slots. */
  bigDoneWhenSmallEnds(small: 'cycle' | 'keys'): number {
    this.#start({ kind: 'cycle', source: 'big', input: { children: BIG } });
    while (this.#bigGranted < SLOTS) this.clock.step();
    let open = 1;
    const observer = { ended: () => void open-- };
    if (small === 'cycle') this.#start({ kind: 'cycle', source: 'small', input: { children: SMALL }, observer });
    else {
      open = SMALL;
      for (let i = 0; i < SMALL; i++) this.#start({ kind: 'key', source: 'small', key: `${i}`, observer });
    }
    while (open > 0) this.clock.step();
    return this.#bigDone;
  }

  #start(start: Omit<UpdateStart, 'trigger'>): void {
    this.dispatcher.startUpdate({ trigger: 'test', ...start });
  }

  #taskMs(): number {
    return EACH_MS + this.#random.next() * this.#timing.lateMs;
  }

  /** Delays, and keeps the order. */
  #link(): (act: () => void) => void {
    let lastMs = 0;
    return (act) => {
      lastMs = Math.max(lastMs, this.clock.nowMs() + this.#timing.linkMs * (1 + this.#random.next() / 4));
      this.clock.after(lastMs - this.clock.nowMs(), act);
    };
  }
}

const isBig = ({ kind, update }: RunView): boolean => kind === 'item' && update.start.source === 'big';

/** What is called there happens later. */
function behind<T extends object>(link: (act: () => void) => void, there: T): T {
  const far = there as Readonly<Record<string | symbol, (...args: unknown[]) => void>>;
  return new Proxy(there, {
    get: (_, name) =>
      far[name] &&
      ((...args: unknown[]) => {
        link(() => far[name]!.apply(there, args));
      }),
  });
}

/** Tasks take their time; a root mounts tasks and ends with the last of them. */
class TimedRunner implements Runner {
  uplink!: Uplink;
  readonly #clock: VirtualClock;
  readonly #taskMs: () => number;
  readonly #mountEveryMs: number;
  /** Tasks that a root waits for. */
  readonly #waiting = new Map<RunNumber, number>();

  constructor(clock: VirtualClock, taskMs: () => number, mountEveryMs: number) {
    this.#clock = clock;
    this.#taskMs = taskMs;
    this.#mountEveryMs = mountEveryMs;
  }

  start({ kind, token, source, input }: RunOrder): void {
    if (kind !== 'cycle') {
      this.#clock.after(this.#taskMs(), () => this.#end(token.run));
      return;
    }
    const { children } = input as { readonly children: number };
    this.#waiting.set(token.run, children);
    this.#mountFrom(0, children, (mount) =>
      this.uplink.mount(token.run, {
        mount,
        path: `${source}/${mount}`,
        kind: 'item',
        source: source!,
        key: `${mount}`,
      }),
    );
  }

  mountEnded(parent: RunNumber): void {
    const left = this.#waiting.get(parent)! - 1;
    this.#waiting.set(parent, left);
    if (left === 0) this.#end(parent);
  }

  mountStarted(): void {}
  cancel(): void {}
  renewed(): void {}
  cardGranted(): void {}
  cardRefused(): void {}

  #mountFrom(mount: number, end: number, mountOne: (mount: number) => void): void {
    if (mount === end) return;
    mountOne(mount);
    if (this.#mountEveryMs === 0) this.#mountFrom(mount + 1, end, mountOne);
    else this.#clock.after(this.#mountEveryMs, () => this.#mountFrom(mount + 1, end, mountOne));
  }

  #end(run: RunNumber): void {
    this.uplink.exited(run, { kind: 'done', counts: NO_COUNTS });
  }
}
