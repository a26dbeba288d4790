// One execution of a component on this runner: its order, its newest token, its cancellation and the children that it mounted.
import type { Clock } from '../clock.ts';
import { compareTokens, type FencingToken, type RunNumber, type RunOrder, type Uplink } from '../protocol/index.ts';
import type { Progress } from '../sdk/index.ts';
import { Cancellation } from './cancellation.ts';
import { Mounts } from './mounts.ts';
import { RunTimes } from './times.ts';

export class Run {
  readonly order: RunOrder;
  readonly cancellation = new Cancellation();
  readonly startedAtMs: number;
  /** Where its time goes; undefined: its update is not traced. */
  readonly times: RunTimes | undefined;
  /** Full reprocess: by order, or because the work list asks for it. */
  reprocess: boolean;
  /** The state knows that the component is about to change below; for roots that stand for no component, from the start. */
  isMarked: boolean;
  /** It works on its item, and neither looks what there is to do nor waits until it may (K2). */
  isAtWork = false;
  /** Should the process die now, the state knows that this run was executing. */
  isOnRecord = false;
  /** How far user code says that it is. */
  progress: Progress | undefined;
  readonly #uplink: Uplink;
  #token: FencingToken;
  #mounts: Mounts | undefined;
  #onRenewed: (() => void)[] | undefined;

  constructor(order: RunOrder, uplink: Uplink, clock: Clock) {
    this.order = order;
    this.reprocess = order.reprocess === true;
    this.isMarked = order.kind === 'delete' && order.key === undefined;
    this.startedAtMs = clock.nowMs();
    this.times = RunTimes.of(order, clock, this.startedAtMs);
    this.#uplink = uplink;
    this.#token = order.token;
  }

  get number(): RunNumber {
    return this.order.token.run;
  }

  /** The newest token: a new leader may have taken the run over. */
  get token(): FencingToken {
    return this.#token;
  }

  get isRoot(): boolean {
    return this.order.parentRun === undefined;
  }

  get mounts(): Mounts {
    this.#mounts ??= new Mounts(this.number, this.#uplink);
    return this.#mounts;
  }

  get hasOpenMounts(): boolean {
    return this.#mounts !== undefined && this.#mounts.open > 0;
  }

  /** Until all children ended. */
  async drained(): Promise<void> {
    while (this.hasOpenMounts) await this.cancellation.race(this.mounts.change());
  }

  renew(token: FencingToken): void {
    if (compareTokens(token, this.#token) <= 0) return;
    this.#token = token;
    for (const wake of this.#onRenewed?.splice(0) ?? []) wake();
  }

  /** Until the token is newer than `than`. */
  async renewed(than: FencingToken): Promise<void> {
    while (compareTokens(this.#token, than) <= 0) {
      this.#onRenewed ??= [];
      const waiting = this.#onRenewed;
      await this.cancellation.race(new Promise<void>((resolve) => waiting.push(resolve)));
    }
  }

  cancel(why: string): void {
    this.cancellation.cancel(why);
    this.#mounts?.withdrawAll();
  }
}
