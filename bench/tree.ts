// Decisions of the tree on one thread: 1,024 slots full, 1,000 updates at depth 4. A pair is a release and the grant that it causes.
// Batches of pairs are timed; the requests that keep the number of waiting runs are not. Figures are medians over batches.
import type { Run } from '../operator/admission/index.ts';
import { type Result, result } from './report.ts';
import { Forest, SLOTS, type Variant } from './tree/forest.ts';
import { type LinearBranch, type LinearRun, LinearTree } from './tree/linear.ts';

const BATCH = 256;
const BATCHES = 2_000;
/** One pair is timed alone this often, for the percentiles; the clock's own cost is part of them. */
const SINGLES = 100_000;

/** Which of the runs in flight ends next: the same in every run of the benchmark. */
class Chance {
  #state = 12_345;

  below(bound: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) >>> 0;
    return (this.#state >>> 8) % bound;
  }
}

const at = (sorted: readonly number[], part: number): number =>
  sorted[Math.floor((sorted.length - 1) * part)] as number;
const sort = (figures: number[]): number[] => figures.sort((a, b) => a - b);

function pairsPerSecond(variant: Variant, waiting: number): number {
  const forest = new Forest(variant, waiting);
  const chance = new Chance();
  const batches: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const picks = Array.from({ length: BATCH }, () => chance.below(forest.flight.length));
    const started: Run[] = [];
    const beginMs = performance.now();
    for (const pick of picks) {
      const { granted } = forest.tree.release(forest.flight[pick] as Run, 'succeeded');
      forest.flight[pick] = granted[0] as Run;
      started.push(granted[0] as Run);
    }
    batches.push((performance.now() - beginMs) / BATCH);
    for (const { update } of started) forest.ask(update);
  }
  return 1_000 / at(sort(batches), 0.5);
}

function linearPairsPerSecond(waiting: number): number {
  const tree = new LinearTree();
  const updates: LinearBranch[] = [];
  for (let i = 0; i < 1_000; i++) {
    const source = i % 100 === 0 ? tree.open(tree.pool) : (tree.pool.children[Math.floor(i / 100)] as LinearBranch);
    const nested = i % 10 === 0 ? tree.open(source) : (source.children.at(-1) as LinearBranch);
    updates.push(tree.open(nested));
  }
  for (let i = 0; i < SLOTS + waiting; i++) tree.wait(updates[i % 1_000] as LinearBranch);
  const flight = Array.from({ length: SLOTS }, () => tree.grant());
  const chance = new Chance();
  const batches: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const picks = Array.from({ length: BATCH }, () => chance.below(SLOTS));
    const beginMs = performance.now();
    for (const pick of picks) {
      tree.release(flight[pick] as LinearRun);
      flight[pick] = tree.grant();
    }
    batches.push((performance.now() - beginMs) / BATCH);
    for (const pick of picks) tree.wait((flight[pick] as LinearRun).update);
  }
  return 1_000 / at(sort(batches), 0.5);
}

/** Microseconds of single pairs, sorted. */
function decisionsUs(waiting: number): readonly number[] {
  const forest = new Forest('plain', waiting);
  const chance = new Chance();
  const singles: number[] = [];
  for (let i = 0; i < SINGLES; i++) {
    const pick = chance.below(SLOTS);
    const beginMs = performance.now();
    const { granted } = forest.tree.release(forest.flight[pick] as Run, 'succeeded');
    singles.push((performance.now() - beginMs) * 1_000);
    const next = granted[0] as Run;
    forest.flight[pick] = next;
    forest.ask(next.update);
  }
  return sort(singles.slice(SINGLES / 10));
}

/** Growth of the heap by a million waiting runs; exact under `node --expose-gc`. */
function bytesPerWaitingRun(): number {
  const gc = (globalThis as { gc?: () => void }).gc;
  const forest = new Forest('plain', 1_000);
  gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1_000_000; i++) forest.ask();
  gc?.();
  const after = process.memoryUsage().heapUsed;
  const asked = forest.asked - 1_000 - SLOTS; // the forest must still be in use here, or it is collected with its runs
  return (after - before) / asked;
}

export const tree = (): Promise<readonly Result[]> => {
  const bytes = bytesPerWaitingRun();
  const singles = decisionsUs(1_000);
  const results = [
    result('pairs-per-second', pairsPerSecond('plain', 1_000), '1/s', linearPairsPerSecond(1_000)),
    result('decision-p50-us', at(singles, 0.5), 'us'),
    result('decision-p99-us', at(singles, 0.99), 'us'),
    result('pairs-per-second-10k-waiting', pairsPerSecond('plain', 10_000), '1/s'),
    result('pairs-per-second-100k-waiting', pairsPerSecond('plain', 100_000), '1/s'),
    result('pairs-per-second-1m-waiting', pairsPerSecond('plain', 1_000_000), '1/s', linearPairsPerSecond(1_000_000)),
    result('pairs-per-second-weights', pairsPerSecond('weights', 1_000), '1/s'),
    result('pairs-per-second-classes', pairsPerSecond('classes', 3_000), '1/s'),
    result('pairs-per-second-loans', pairsPerSecond('loans', 20_000), '1/s'),
    result('bytes-per-waiting-run', bytes, 'bytes'),
  ];
  return Promise.resolve(results);
};
