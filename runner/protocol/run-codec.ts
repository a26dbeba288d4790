// Mounts and orders of runs as columns.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ByteColumn,
  ByteReader,
  DoubleColumn,
  DoubleReader,
  TextColumn,
  TextReader,
  WordColumn,
  WordReader,
} from './columns.ts';
import { json, parsedJson } from './json.ts';
import {
  type MountDetails,
  MountDetailsSchema,
  type Mounts,
  MountsSchema,
  type StartDetails,
  StartDetailsSchema,
  type Starts,
  StartsSchema,
} from './link_pb.ts';
import type { MountRequest, RunKind, RunNumber, RunOrder } from './messages.ts';

const KINDS: readonly RunKind[] = ['cycle', 'pipeline', 'item', 'element', 'module', 'delete', 'watch'];

const codeOf = (kind: RunKind): number => KINDS.indexOf(kind) + 1;

function kindOf(code: number): RunKind {
  const kind = KINDS[code - 1];
  if (kind === undefined) throw new RangeError(`the link carried a run of the unknown kind ${code}`);
  return kind;
}

type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** The rarer fields that mounts and orders have in common. */
interface CommonDetails {
  readonly inputJson?: string | undefined;
  readonly runnerClass?: string | undefined;
  readonly rows?: number | undefined;
  readonly bytes?: number | undefined;
  readonly reprocess?: boolean | undefined;
  readonly milliCards?: number | undefined;
}

export class MountWriter {
  readonly #parents = new DoubleColumn();
  readonly #numbers = new WordColumn();
  readonly #kinds = new ByteColumn();
  readonly #texts = new TextColumn();
  #details: MountDetails[] = [];

  push(parent: RunNumber, request: MountRequest): void {
    const details = commonDetails(request);
    if (details !== undefined) {
      this.#details.push(create(MountDetailsSchema, { ...details, index: this.#kinds.length }));
    }
    this.#parents.push(parent);
    this.#numbers.push(request.mount);
    this.#kinds.push(codeOf(request.kind));
    pushTexts(this.#texts, request);
  }

  take(): Mounts {
    const details = this.#details;
    this.#details = [];
    return create(MountsSchema, {
      parentsF64: this.#parents.take(),
      numbersU32: this.#numbers.take(),
      kindsU8: this.#kinds.take(),
      texts: this.#texts.take(),
      details,
    });
  }
}

export class MountReader {
  readonly length: number;
  readonly #parents: DoubleReader;
  readonly #numbers: WordReader;
  readonly #kinds: ByteReader;
  readonly #texts: TextReader;
  readonly #details: Map<number, MountDetails>;
  #index = 0;

  constructor(mounts: Mounts | undefined) {
    const { parentsF64, numbersU32, kindsU8, texts, details } = mounts ?? create(MountsSchema);
    this.length = kindsU8.length;
    this.#parents = new DoubleReader(parentsF64);
    this.#numbers = new WordReader(numbersU32);
    this.#kinds = new ByteReader(kindsU8);
    this.#texts = new TextReader(texts);
    this.#details = new Map(details.map((one) => [one.index, one]));
  }

  next(): { readonly parent: RunNumber; readonly request: MountRequest } {
    const parent = this.#parents.next();
    const mount = this.#numbers.next();
    const kind = kindOf(this.#kinds.next());
    const request: Draft<MountRequest> = { mount, path: this.#texts.next(), kind };
    readTexts(this.#texts, request);
    if (this.#details.size > 0) readCommon(this.#details.get(this.#index), request);
    this.#index++;
    return { parent, request };
  }
}

export class StartWriter {
  readonly #runs = new DoubleColumn();
  readonly #attempts = new WordColumn();
  readonly #kinds = new ByteColumn();
  readonly #parents = new DoubleColumn();
  readonly #texts = new TextColumn();
  readonly #updateIndices = new WordColumn();
  #updates = new Map<string, number>();
  #updateOfs: string[] = [];
  #updateTraceparents: string[] = [];
  #details: StartDetails[] = [];

  get length(): number {
    return this.#kinds.length;
  }

  push(order: RunOrder): void {
    const details = startDetails(order);
    if (details !== undefined) this.#details.push(create(StartDetailsSchema, { ...details, index: this.length }));
    this.#runs.push(order.token.run);
    this.#attempts.push(order.token.attempt);
    this.#kinds.push(codeOf(order.kind));
    this.#parents.push(order.parentRun ?? 0);
    pushTexts(this.#texts, order);
    this.#updateIndices.push(this.#indexOf(order));
  }

  take(): Starts {
    const updates = [...this.#updates.keys()];
    const updateOfs = this.#updateOfs;
    const updateTraceparents = this.#updateTraceparents;
    const details = this.#details;
    this.#updates = new Map();
    this.#updateOfs = [];
    this.#updateTraceparents = [];
    this.#details = [];
    return create(StartsSchema, {
      runsF64: this.#runs.take(),
      attemptsU32: this.#attempts.take(),
      kindsU8: this.#kinds.take(),
      parentsF64: this.#parents.take(),
      texts: this.#texts.take(),
      updates,
      updateOfs,
      updateIndicesU32: this.#updateIndices.take(),
      details,
      updateTraceparents,
    });
  }

  #indexOf(order: RunOrder): number {
    const known = this.#updates.get(order.update);
    if (known !== undefined) return known;
    this.#updates.set(order.update, this.#updates.size);
    this.#updateOfs.push(order.updateOf ?? '');
    this.#updateTraceparents.push(order.traceparent ?? '');
    return this.#updates.size - 1;
  }
}

export class StartReader {
  readonly length: number;
  readonly #runs: DoubleReader;
  readonly #attempts: WordReader;
  readonly #kinds: ByteReader;
  readonly #parents: DoubleReader;
  readonly #texts: TextReader;
  readonly #updates: readonly string[];
  readonly #updateOfs: readonly string[];
  readonly #updateTraceparents: readonly string[];
  readonly #updateIndices: WordReader;
  readonly #details: Map<number, StartDetails>;
  #index = 0;

  constructor(starts: Starts | undefined) {
    const { runsF64, attemptsU32, kindsU8, parentsF64, texts, updates, updateOfs, updateIndicesU32, details, ...rest } =
      starts ?? create(StartsSchema);
    this.length = kindsU8.length;
    this.#runs = new DoubleReader(runsF64);
    this.#attempts = new WordReader(attemptsU32);
    this.#kinds = new ByteReader(kindsU8);
    this.#parents = new DoubleReader(parentsF64);
    this.#texts = new TextReader(texts);
    this.#updates = updates;
    this.#updateOfs = updateOfs;
    this.#updateTraceparents = rest.updateTraceparents;
    this.#updateIndices = new WordReader(updateIndicesU32);
    this.#details = new Map(details.map((one) => [one.index, one]));
  }

  next(epoch: number): RunOrder {
    const token = { epoch, run: this.#runs.next(), attempt: this.#attempts.next() };
    const kind = kindOf(this.#kinds.next());
    const parentRun = this.#parents.next();
    const path = this.#texts.next();
    const order: Draft<RunOrder> = { token, update: '', path, kind };
    readTexts(this.#texts, order);
    const update = this.#updateIndices.next();
    order.update = this.#updates[update] ?? '';
    const updateOf = this.#updateOfs[update];
    if (updateOf !== undefined && updateOf !== '') order.updateOf = updateOf;
    const traceparent = this.#updateTraceparents[update];
    if (traceparent !== undefined && traceparent !== '') order.traceparent = traceparent;
    if (parentRun !== 0) order.parentRun = parentRun;
    const details = this.#details.size === 0 ? undefined : this.#details.get(this.#index);
    if (details !== undefined) readStartDetails(details, order);
    this.#index++;
    return order;
  }
}

function pushTexts(column: TextColumn, from: Pick<MountRequest, 'path' | 'source' | 'key' | 'version'>): void {
  column.push(from.path);
  column.push(from.source ?? '');
  column.push(from.key ?? '');
  column.push(from.version ?? '');
}

/** The texts after the path. */
function readTexts(reader: TextReader, into: Draft<Pick<MountRequest, 'source' | 'key' | 'version'>>): void {
  const source = reader.next();
  const key = reader.next();
  const version = reader.next();
  if (source !== '') into.source = source;
  if (key !== '') into.key = key;
  if (version !== '') into.version = version;
}

function commonDetails(from: MountRequest | RunOrder): CommonDetails | undefined {
  const { input, runnerClass, rows, bytes, reprocess, milliCards } = from;
  if (
    input === undefined &&
    runnerClass === undefined &&
    rows === undefined &&
    bytes === undefined &&
    reprocess === undefined &&
    milliCards === undefined
  ) {
    return undefined;
  }
  return {
    ...(input === undefined ? {} : { inputJson: json(input) }),
    ...(runnerClass === undefined ? {} : { runnerClass }),
    ...(rows === undefined ? {} : { rows }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(reprocess === undefined ? {} : { reprocess }),
    ...(milliCards === undefined ? {} : { milliCards }),
  };
}

type Common = Pick<MountRequest, 'input' | 'runnerClass' | 'rows' | 'bytes' | 'reprocess' | 'milliCards'>;

function readCommon(details: CommonDetails | undefined, into: Draft<Common>): void {
  if (details === undefined) return;
  if (details.inputJson !== undefined) into.input = parsedJson(details.inputJson);
  if (details.runnerClass !== undefined) into.runnerClass = details.runnerClass;
  if (details.rows !== undefined) into.rows = details.rows;
  if (details.bytes !== undefined) into.bytes = details.bytes;
  if (details.reprocess !== undefined) into.reprocess = details.reprocess;
  if (details.milliCards !== undefined) into.milliCards = details.milliCards;
}

function startDetails(order: RunOrder): MessageInitShape<typeof StartDetailsSchema> | undefined {
  const common = commonDetails(order);
  if (common === undefined && !hasDetails(order)) return undefined;
  const { trigger, allowDeletes, releaseQuarantined, openUpdates, losses, resume } = order;
  return {
    ...common,
    ...(trigger === undefined ? {} : { trigger }),
    ...(allowDeletes === undefined ? {} : { allowDeletes }),
    ...(releaseQuarantined === undefined ? {} : { releaseQuarantined }),
    ...(openUpdates === undefined ? {} : { openUpdates: [...openUpdates], hasOpenUpdates: true }),
    ...(losses === undefined ? {} : { losses }),
    ...(resume === undefined ? {} : { resumeJson: json(resume) }),
  };
}

const hasDetails = (order: RunOrder): boolean =>
  order.trigger !== undefined ||
  order.allowDeletes !== undefined ||
  order.releaseQuarantined !== undefined ||
  order.openUpdates !== undefined ||
  order.losses !== undefined ||
  order.resume !== undefined;

function readStartDetails(details: StartDetails, order: Draft<RunOrder>): void {
  readCommon(details, order);
  if (details.trigger !== undefined) order.trigger = details.trigger;
  if (details.allowDeletes !== undefined) order.allowDeletes = details.allowDeletes;
  if (details.releaseQuarantined !== undefined) order.releaseQuarantined = details.releaseQuarantined;
  if (details.hasOpenUpdates) order.openUpdates = details.openUpdates;
  if (details.losses !== undefined) order.losses = details.losses;
  if (details.resumeJson !== undefined) order.resume = parsedJson(details.resumeJson);
}
