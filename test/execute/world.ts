// A small world around the engine: a source that a test edits, steps that a test holds, targets that a test reads, and the real embedded state.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Engine,
  type ItemContent,
  type ListedItem,
  type PipelinePlan,
  type PlannedStep,
  type RowChange,
  type Source,
  type SourcePlan,
  type StateStore,
  type Step,
  type StepContext,
  type Target,
} from '../../runner/execute/index.ts';
import type { SourceChange } from '../../runner/protocol/index.ts';
import type { Element } from '../../runner/sdk/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { Desk } from './desk.ts';

/** Holds callers until it is opened, and says who waits. */
export class Gate {
  isOpen: boolean;
  waiting: { readonly name: string; readonly pass: () => void }[] = [];
  #watchers: (() => void)[] = [];

  constructor(isOpen = true) {
    this.isOpen = isOpen;
  }

  pass(name: string): Promise<void> {
    if (this.isOpen) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.push({ name, pass: resolve });
    for (const watcher of this.#watchers.splice(0)) watcher();
    return promise;
  }

  /** Resolves when so many wait. */
  async held(count: number): Promise<void> {
    while (this.waiting.length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** Lets the first one through, or the first of that name. */
  release(name = this.waiting[0]?.name): void {
    const index = this.waiting.findIndex((waiting) => waiting.name === name);
    if (index >= 0) this.waiting.splice(index, 1)[0]?.pass();
  }

  open(): void {
    this.isOpen = true;
    for (const { pass } of this.waiting.splice(0)) pass();
  }

  /** Who waits is forgotten, as by the end of their process. */
  forget(): void {
    this.waiting = [];
  }
}

/** Items by key; each write makes a new version. */
export class TestSource implements Source {
  readonly items = new Map<string, { version: string; text: string; title?: string }>();
  batchSize = 1_000;
  reads = 0;
  /** Called before each batch of a listing with its index; may throw or wait. */
  onBatch: (index: number) => void | Promise<void> = () => {};
  onRead: (key: string) => void | Promise<void> = () => {};
  watching: ((changes: readonly SourceChange[]) => void) | undefined;
  failWatch: ((error: Error) => void) | undefined;
  #versions = 0;

  write(key: string, text: string): void {
    this.items.set(key, { version: `v${++this.#versions}`, text });
  }

  /** Another version, the same content. */
  touch(key: string): void {
    this.write(key, this.items.get(key)?.text ?? '');
  }

  remove(key: string): void {
    this.items.delete(key);
  }

  async *list(): AsyncGenerator<readonly ListedItem[]> {
    const all = [...this.items].map(([key, { version, text }]) => ({ key, version, sizeBytes: text.length }));
    for (let at = 0, index = 0; at < all.length; at += this.batchSize, index += 1) {
      await this.onBatch(index);
      yield all.slice(at, at + this.batchSize);
    }
    await this.onBatch(-1);
  }

  async stat(key: string): Promise<ListedItem | undefined> {
    const item = this.items.get(key);
    return item && { key, version: item.version, sizeBytes: item.text.length };
  }

  async read(key: string): Promise<ItemContent | undefined> {
    this.reads += 1;
    await this.onRead(key);
    const item = this.items.get(key);
    if (item === undefined) return undefined;
    const fields = item.title === undefined ? {} : { fields: { title: item.title } };
    return { version: item.version, bytes: new TextEncoder().encode(item.text), ...fields };
  }

  async *watch(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    const queue: (readonly SourceChange[])[] = [[]];
    let wake = (): void => {};
    let failure: Error | undefined;
    this.watching = (changes) => {
      queue.push(changes);
      wake();
    };
    this.failWatch = (error) => {
      failure = error;
      wake();
    };
    while (!signal.aborted) {
      const next = queue.shift();
      if (next !== undefined) yield next;
      else if (failure !== undefined) throw failure;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  async close(): Promise<void> {}
}

/** The step `read`: one element with the item's text. */
export class ReadStep implements Step {
  readonly identity = 'read/1';

  async run(_elements: readonly Element[], context: StepContext): Promise<readonly Element[]> {
    const { bytes } = await context.content(1_000_000);
    return [{ text: new TextDecoder().decode(bytes) }];
  }

  async close(): Promise<void> {}
}

/** One element a line, with its place. */
export class LinesStep implements Step {
  readonly identity = 'lines/1';

  async run(elements: readonly Element[]): Promise<readonly Element[]> {
    return elements.flatMap(({ text = '' }) =>
      text
        .split('\n')
        .map((line, index) => ({
          text: line,
          place: { startByte: index, endByte: index + line.length, startLine: index + 1, endLine: index + 1 },
        }))
        .filter((element) => element.text !== ''),
    );
  }

  async close(): Promise<void> {}
}

/** Counts its calls by item, lets a test hold or fail them; passes elements on. */
export class WorkStep implements Step {
  readonly identity: string;
  readonly gate = new Gate();
  readonly calls: string[] = [];
  /** Called at each call; may throw. */
  onCall: (key: string, elements: readonly Element[], context: StepContext) => void | Promise<void> = () => {};

  constructor(identity = 'work/1') {
    this.identity = identity;
  }

  async run(elements: readonly Element[], context: StepContext): Promise<readonly Element[]> {
    this.calls.push(context.item.key);
    await this.onCall(context.item.key, elements, context);
    await this.gate.pass(context.item.key);
    return elements;
  }

  async close(): Promise<void> {}
}

/** Embeds each text by its length; computed texts are counted, known ones come from the memo. */
export class EmbedStep implements Step {
  readonly identity: string;
  computed: string[] = [];
  onCompute: (text: string) => void | Promise<void> = () => {};

  constructor(model = 'm1') {
    this.identity = `embed/${model}`;
  }

  async run(elements: readonly Element[], context: StepContext): Promise<readonly Element[]> {
    const keys = elements.map(({ text = '' }) => keyOf(`${this.identity} ${text}`));
    const known = await context.memo.get(keys);
    const result: Element[] = [];
    for (const [index, element] of elements.entries()) {
      const key = keys[index] as string;
      let bytes = known[index];
      if (bytes === undefined) {
        await this.onCompute(element.text ?? '');
        this.computed.push(element.text ?? '');
        bytes = new Uint8Array(new Float32Array([element.text?.length ?? 0, this.identity.length]).buffer);
        context.memo.put([{ key, value: bytes }]);
      }
      result.push({ ...element, vector: new Float32Array(Uint8Array.from(bytes).buffer), vectorKey: key });
    }
    return result;
  }

  async close(): Promise<void> {}
}

function keyOf(text: string): string {
  let hash = 0n;
  for (const code of new TextEncoder().encode(text)) hash = (hash * 1_000_003n + BigInt(code)) % (1n << 128n);
  return hash.toString(16).padStart(32, '0');
}

/** A target outside the store, in memory, that a test can make fail. It outlives engines, as a server would. */
export class MemoryTarget implements Target {
  readonly name: string;
  readonly identity = 'memory/1';
  readonly shared = false;
  readonly keepsVectors = true;
  readonly rows = new Map<string, { owner: string; key: string; element: Element }>();
  applies = 0;
  writes = 0;
  deletes = 0;
  /** Called before a group is applied; may throw. */
  onApply: (changes: readonly RowChange[]) => void | Promise<void> = () => {};

  constructor(name = 'rows') {
    this.name = name;
  }

  /** Texts by item, in the order of their place. */
  texts(): Record<string, string[]> {
    const all: Record<string, string[]> = {};
    const rows = [...this.rows.values()].sort(
      (a, b) => (a.element.place?.startLine ?? 0) - (b.element.place?.startLine ?? 0),
    );
    for (const { key, element } of rows) all[key] = [...(all[key] ?? []), element.text ?? ''];
    return all;
  }

  async prepare(): Promise<'ready'> {
    return 'ready';
  }

  async apply(changes: readonly RowChange[]): Promise<void> {
    this.applies += 1;
    await this.onApply(changes);
    for (const change of changes) this.#apply(change);
  }

  #apply({ owner, upserts, touches, deletes, deleteAll }: RowChange): void {
    for (const [id, row] of this.rows) if (deleteAll === true && row.owner === owner) this.#delete(id);
    for (const id of deletes) this.#delete(id);
    for (const { id, key, element } of upserts) {
      this.writes += 1;
      this.rows.set(id, { owner, key, element });
    }
    for (const { id, key, element } of touches) {
      const { vector, vectorKey } = this.rows.get(id)?.element ?? {};
      this.rows.set(id, {
        owner,
        key,
        element: { ...element, ...(vector && { vector }), ...(vectorKey && { vectorKey }) },
      });
    }
  }

  #delete(id: string): void {
    if (this.rows.delete(id)) this.deletes += 1;
  }

  async vectors(keys: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    const wanted = new Set(keys);
    const found = new Map<string, Float32Array>();
    for (const { element } of this.rows.values()) {
      if (element.vectorKey !== undefined && element.vector !== undefined && wanted.has(element.vectorKey)) {
        found.set(element.vectorKey, element.vector);
      }
    }
    return found;
  }

  async scan(afterId: string, limit: number) {
    return [...this.rows]
      .filter(([id]) => id > afterId)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([id, { owner }]) => ({ id, owner }));
  }

  async drop(): Promise<void> {
    this.rows.clear();
  }

  async close(): Promise<void> {}
}

/** Notes what was waited for. */
class NotingClock extends VirtualClock {
  readonly delaysMs: number[] = [];

  override after(delayMs: number, wake: () => void): () => void {
    this.delaysMs.push(delayMs);
    return super.after(delayMs, wake);
  }

  /** Resolves when a wait of that length has begun; it is noted no more then. */
  async waiting(delayMs: number): Promise<void> {
    while (!this.delaysMs.includes(delayMs)) await settle();
    this.delaysMs.splice(this.delaysMs.indexOf(delayMs), 1);
  }
}

export interface WorldOptions {
  readonly steps?: readonly PlannedStep[];
  readonly slots?: number;
  readonly guard?: SourcePlan['deleteGuard'];
  readonly maxContentBytes?: number | undefined;
  /** Targets that hold rows of a state that was lost. */
  readonly adopted?: readonly Pick<Target, 'sweep'>[];
}

const DELETE_GUARD = { maxPercent: 50, minItems: 20 };

export class World {
  readonly clock = new NotingClock();
  readonly source = new TestSource();
  readonly work = new WorkStep();
  readonly target = new MemoryTarget();
  readonly file = join(mkdtempSync(join(tmpdir(), 'fairlead-engine-')), 'state.db');
  readonly #options: WorldOptions;
  /** What the engine sees; `store` is what is behind it. */
  state!: StateStore;
  store!: StateStore;
  engine!: Engine;
  desk!: Desk;
  steps: readonly PlannedStep[];
  random = () => 0;
  /** Further sources that the engine knows. */
  others: readonly string[] = [];
  #epoch = 0;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.steps = options.steps ?? [
      { verb: 'read', step: new ReadStep() },
      { verb: 'lines', step: new LinesStep() },
      { verb: 'work', step: this.work },
      { verb: 'export', target: 'rows' },
    ];
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const world = new World(options);
    await world.start();
    return world;
  }

  /** A process starts: state, engine and desk are new, source and targets stay. */
  async start(
    wrap: (state: StateStore) => StateStore = (state) => state,
    wrapTarget: (target: Target) => Target = (target) => target,
  ): Promise<void> {
    this.store = new SqliteState({ file: this.file, clock: this.clock });
    this.#epoch = await this.store.open('next');
    this.state = wrap(this.store);
    this.engine = new Engine({
      state: this.state,
      plan: this.plan(wrapTarget(this.target)),
      sources: new Map([
        ...['docs', ...this.others].map(
          (name) => [name, { source: this.source, deleteGuard: this.#options.guard ?? DELETE_GUARD }] as const,
        ),
      ]),
      clock: this.clock,
      random: () => this.random(),
      adopted: this.#options.adopted ?? [],
    });
    this.desk = new Desk(this.engine, this.#options.slots ?? 8, this.#epoch);
  }

  /** The process ends without a word, as by kill -9, and another one starts. */
  async restart(wrap?: (state: StateStore) => StateStore, wrapTarget?: (target: Target) => Target): Promise<void> {
    await this.store.close();
    await this.start(wrap, wrapTarget);
  }

  plan(target: Target = this.target): PipelinePlan {
    const { maxContentBytes = 1_000_000 } = this.#options;
    return { component: { steps: this.steps }, targets: [target], maxContentBytes };
  }

  cycle(more: Parameters<Desk['cycle']>[1] = {}) {
    return this.desk.cycle('docs', more);
  }

  /** A per-key update. */
  key(key: string) {
    return this.desk.root({ kind: 'item', source: 'docs', key, path: `docs/${encodeURIComponent(key)}` }).ended;
  }
}

/** Counts as a test writes them: those that are not 0. */
export function counted(outcome: { readonly kind: string; readonly counts?: object }): object {
  return Object.fromEntries(Object.entries(outcome.counts ?? {}).filter(([, count]) => count !== 0));
}

/** An object with some of its methods replaced. */
export function replacing<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
