// Mounts that wait for runners to report (B7 of adoption.ts), by parent and what they are of.
import type { RunNumber, RunOrder } from '../../runner/protocol/index.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { LiveRun, Wanted } from './live-run.ts';

/** Runners that live are back by then: they dial every 5 s at the least. */
const REPORT_MAX_MS = 10_000;

export interface HeldMountsOptions {
  readonly clock: Clock;
  /** Asks for a slot for one that waited. */
  readonly ask: (run: LiveRun) => void;
}

export class HeldMounts {
  readonly #options: HeldMountsOptions;
  readonly #runs = new Map<string, LiveRun>();
  #isHolding = false;
  #giveUp: CancelTimer = () => {};

  constructor(options: HeldMountsOptions) {
    this.#options = options;
  }

  /** Whether mounts are held: runners are expected, and their time to report is not up. */
  get isHolding(): boolean {
    return this.#isHolding;
  }

  begin(): void {
    this.#isHolding = true;
    this.#giveUp = this.#options.clock.after(REPORT_MAX_MS, () => this.end());
  }

  /** Those that are held ask now. */
  end(): void {
    this.#giveUp();
    this.#isHolding = false;
    const held = [...this.#runs.values()];
    this.#runs.clear();
    for (const run of held) this.#options.ask(run);
  }

  has(parent: RunNumber, wanted: Wanted): boolean {
    return this.#runs.has(mountKey(parent, wanted));
  }

  hold(parent: RunNumber, run: LiveRun): void {
    this.#runs.set(mountKey(parent, run.request), run);
  }

  /** The one that led to this order, if it still waits. */
  of(order: RunOrder): LiveRun | undefined {
    const { parentRun } = order;
    const held = parentRun === undefined ? undefined : this.#runs.get(mountKey(parentRun, order));
    return held?.state.phase === 'unplaced' ? held : undefined;
  }
}

export const mountKey = (parent: RunNumber, { path, version = '' }: Wanted): string => `${parent} ${path} ${version}`;
