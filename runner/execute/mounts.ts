// Children that a run mounted, as the run sees them. Back-pressure: at most WAITING_MAX of them wait to start and at most OPEN_MAX are open
// (a parked child is open and holds no slot), so that a producer of a million items holds a bounded number of them.
import type { MountRequest, RunNumber, RunOutcome, Uplink } from '../protocol/index.ts';

const WAITING_MAX = 256;
const OPEN_MAX = 65_536;

interface Child {
  started: boolean;
  readonly onEnd: (outcome: RunOutcome) => void;
}

/** Largest input of a run (L2). */
export const INPUT_MAX_BYTES = 256 * 1024;

/** A request that has no number yet. */
export type MountWish = Omit<MountRequest, 'mount'>;

export class Mounts {
  /** Called after each start and end of a child: there may be room now. */
  onChange: () => void = () => {};
  readonly #parent: RunNumber;
  readonly #uplink: Uplink;
  readonly #open = new Map<number, Child>();
  #next = 1;
  #waiting = 0;

  constructor(parent: RunNumber, uplink: Uplink) {
    this.#parent = parent;
    this.#uplink = uplink;
  }

  get hasRoom(): boolean {
    return this.#waiting < WAITING_MAX && this.#open.size < OPEN_MAX;
  }

  get open(): number {
    return this.#open.size;
  }

  /** The request becomes the mount's own. `onEnd` is called exactly once, unless the parent ended before. Answers its number. */
  mount(request: MountWish, onEnd: (outcome: RunOutcome) => void): number {
    const numbered = request as { -readonly [K in keyof MountRequest]: MountRequest[K] };
    const mount = this.#next++;
    numbered.mount = mount;
    this.#open.set(mount, { started: false, onEnd });
    this.#waiting += 1;
    this.#uplink.mount(this.#parent, numbered);
    return mount;
  }

  /** Mounts what goes on after its parent: nobody here waits for it or hears how it ends. */
  mountApart(request: MountWish): void {
    this.#uplink.mount(this.#parent, { ...request, mount: this.#next++ });
  }

  /** Takes back one that has not started, which is then reported no more; false: it has started, or ended. */
  withdraw(mount: number): boolean {
    const child = this.#open.get(mount);
    if (child === undefined || child.started) return false;
    this.#open.delete(mount);
    this.#waiting -= 1;
    this.#uplink.unmount(this.#parent, mount);
    return true;
  }

  /** Takes back those that wait; those that run end by themselves and are reported no more. */
  letGo(): void {
    for (const mount of [...this.#open.keys()]) this.withdraw(mount);
    this.#open.clear();
  }

  started(mount: number): void {
    const child = this.#open.get(mount);
    if (child === undefined || child.started) return;
    child.started = true;
    this.#waiting -= 1;
    this.onChange();
  }

  ended(mount: number, outcome: RunOutcome): void {
    const child = this.#open.get(mount);
    if (child === undefined) return;
    this.#open.delete(mount);
    if (!child.started) this.#waiting -= 1;
    child.onEnd(outcome);
    this.onChange();
  }

  /** Resolves with the next start or end of a child. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      const before = this.onChange;
      this.onChange = () => {
        this.onChange = before;
        before();
        resolve();
      };
    });
  }

  /** Withdraws those that wait and cancels those that run; nothing of them is reported any more. */
  withdrawAll(): void {
    const mounts = [...this.#open.keys()];
    this.#open.clear();
    this.#waiting = 0;
    for (const mount of mounts) this.#uplink.unmount(this.#parent, mount);
  }
}
