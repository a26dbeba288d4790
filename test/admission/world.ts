// A tree with short words for tests: runs by name, and what is in flight at any moment.
import {
  AdmissionTree,
  type Branch,
  type RequestOptions,
  type Run,
  type TreeOptions,
} from '../../operator/admission/index.ts';

export class World {
  readonly tree: AdmissionTree;
  readonly pool: Branch;
  /** Granted runs in the order in which they were granted, ended ones included. */
  readonly granted: Run[] = [];
  readonly #names = new Map<Run, string>();

  constructor(options: Partial<TreeOptions> = {}) {
    this.tree = new AdmissionTree({ slots: 1, ...options });
    this.pool = this.tree.pool;
  }

  update(name: string, parent: Branch = this.pool): Branch {
    return this.tree.openUpdate(parent, name);
  }

  source(name: string, parent: Branch = this.pool, weight = 1): Branch {
    return this.tree.openSource(parent, name, { weight });
  }

  ask(update: Branch, name: string, options: RequestOptions = {}): Run {
    const { run, granted } = this.tree.request(update, options);
    this.#names.set(run, name);
    this.took(granted);
    return run;
  }

  /** Several requests named a1, a2, … */
  askMany(update: Branch, name: string, count: number, options: RequestOptions = {}): Run[] {
    return Array.from({ length: count }, (_, i) => this.ask(update, `${name}${i + 1}`, options));
  }

  end(run: Run, how: 'succeeded' | 'failed' = 'succeeded'): readonly Run[] {
    const { granted, reused } = this.tree.release(run, how);
    this.took(granted);
    return reused;
  }

  took(granted: readonly Run[]): void {
    this.granted.push(...granted);
  }

  nameOf(run: Run): string {
    return this.#names.get(run) ?? '?';
  }

  /** Names of the granted runs in order. */
  order(): string[] {
    return this.granted.map((run) => this.nameOf(run));
  }

  inFlight(): Run[] {
    return this.granted.filter((run) => run.state === 'granted');
  }

  executing(): Run[] {
    return this.inFlight().filter((run) => run.isExecuting);
  }

  /** The child that uses its slot now. */
  borrowerOf(lender: Run): Run | undefined {
    return this.inFlight().find(({ loanOf }) => loanOf === lender);
  }

  /** Ends the run that was granted first, again and again, until nothing is in flight. */
  drain(): void {
    for (let next = this.inFlight()[0]; next !== undefined; next = this.inFlight()[0]) this.end(next);
  }
}
