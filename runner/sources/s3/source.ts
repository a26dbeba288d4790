// The source `s3`: objects of a bucket. The key is the object's key, the version its ETag (of a multipart upload that is no hash of the
// content, and a new upload of the same content may get another one: the content's hash then saves the work).
import type { GetObjectCommandOutput, ListObjectsV2CommandOutput, S3Client } from '@aws-sdk/client-s3';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import { type FailureClass, StepError } from '../../sdk/index.ts';
import { messageOf, show } from '../common/failure.ts';
import type { PathFilter } from '../common/filter.ts';
import { Gate } from '../common/gate.ts';
import { tooLarge } from '../common/too-large.ts';

const PAGE = 1_000;
const OPEN_MAX = 32;

export interface S3SourceOptions {
  readonly client: S3Client;
  readonly bucket: string;
  readonly prefix: string;
  readonly filter: PathFilter;
}

export class S3Source implements Source {
  readonly #options: S3SourceOptions;
  readonly #gate = new Gate(OPEN_MAX);

  constructor(options: S3SourceOptions) {
    this.#options = options;
  }

  async *list({ signal }: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    let token: string | undefined;
    do {
      signal.throwIfAborted();
      const page = await this.#page(token, signal);
      const items = (page.Contents ?? []).flatMap((object) => this.#item(object));
      if (items.length > 0) yield items;
      token = nextToken(page);
    } while (token !== undefined);
    signal.throwIfAborted();
  }

  async stat(key: string, signal: AbortSignal): Promise<ListedItem | undefined> {
    signal.throwIfAborted();
    if (!this.#admits(key)) return undefined;
    const command = new HeadObjectCommand({ Bucket: this.#options.bucket, Key: key });
    const head = await this.#ask(signal, () => this.#options.client.send(command, { abortSignal: signal }));
    return head && { key, version: versionOf(head), sizeBytes: head.ContentLength ?? 0 };
  }

  async read(key: string, _version: string, options: ReadOptions): Promise<ItemContent | undefined> {
    options.signal.throwIfAborted();
    if (!this.#admits(key)) return undefined;
    return await this.#gate.run(options.signal, () => this.#read(key, options));
  }

  async close(): Promise<void> {
    this.#options.client.destroy();
  }

  async #read(key: string, { signal, maxBytes }: ReadOptions): Promise<ItemContent | undefined> {
    const command = new GetObjectCommand({ Bucket: this.#options.bucket, Key: key });
    const reply = await this.#ask(signal, () => this.#options.client.send(command, { abortSignal: signal }));
    if (reply === undefined) return undefined;
    const bytes = await this.#ask(signal, () => bodyOf(reply, key, maxBytes));
    return bytes && { version: versionOf(reply), bytes };
  }

  async #page(token: string | undefined, signal: AbortSignal): Promise<ListObjectsV2CommandOutput> {
    const { bucket, prefix, client } = this.#options;
    const more = token === undefined ? {} : { ContinuationToken: token };
    // Keys come as in an address: XML cannot hold all that a key may.
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix,
      MaxKeys: PAGE,
      EncodingType: 'url',
      ...more,
    });
    const page = await this.#ask(signal, () => client.send(command, { abortSignal: signal }));
    if (page === undefined) throw new StepError('invalid', `s3: there is no bucket ${bucket}`);
    return page;
  }

  #item(object: {
    readonly Key?: string | undefined;
    readonly ETag?: string | undefined;
    readonly Size?: number | undefined;
    readonly LastModified?: Date | undefined;
  }): ListedItem[] {
    const key = decodeURIComponent((object.Key ?? '').replaceAll('+', ' '));
    if (!this.#admits(key)) return [];
    return [{ key, version: versionOf({ ...object, ContentLength: object.Size }), sizeBytes: object.Size ?? 0 }];
  }

  /** A key that ends in a slash stands for a folder in consoles; it has no content. */
  #admits(key: string): boolean {
    const { prefix, filter } = this.#options;
    return (
      key !== '' &&
      !key.endsWith('/') &&
      !key.includes('\0') &&
      key.isWellFormed() &&
      key.startsWith(prefix) &&
      filter.admitsFile(key)
    );
  }

  /** Undefined: it is not there. Throws StepError, or the signal's reason. */
  async #ask<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof StepError) throw error;
      const { name, status } = kindOf(error);
      if (name === 'NoSuchKey' || name === 'NotFound') return undefined;
      throw new StepError(
        classOf(name, status),
        `s3: the bucket ${this.#options.bucket} answered ${name}: ${messageOf(error)}`,
      );
    }
  }
}

/** A list that says there is more without saying where is cut, not whole (F1). */
function nextToken(page: ListObjectsV2CommandOutput): string | undefined {
  if (page.IsTruncated !== true) return undefined;
  if (page.NextContinuationToken !== undefined) return page.NextContinuationToken;
  throw new StepError('transient', 's3: the listing was cut off; nothing is deleted meanwhile');
}

function versionOf(object: {
  readonly ETag?: string | undefined;
  readonly ContentLength?: number | undefined;
  readonly LastModified?: Date | undefined;
}): string {
  return object.ETag?.replaceAll('"', '') ?? `${object.ContentLength ?? 0}-${object.LastModified?.getTime() ?? 0}`;
}

async function bodyOf(reply: GetObjectCommandOutput, key: string, maxBytes: number): Promise<Uint8Array> {
  const size = reply.ContentLength ?? 0;
  const body = reply.Body as (AsyncIterable<Buffer> & { destroy(): void }) | undefined;
  if (body === undefined) return new Uint8Array(0);
  const parts: Buffer[] = [];
  let length = 0;
  try {
    if (size > maxBytes) throw tooLarge(key, size, maxBytes);
    for await (const part of body) {
      length += part.length;
      if (length > maxBytes) throw tooLarge(key, length, maxBytes);
      parts.push(part);
    }
  } finally {
    body.destroy();
  }
  if (length < size) throw new StepError('transient', `s3: ${show(key)} broke off after ${length} of ${size} bytes`);
  return Buffer.concat(parts);
}

function kindOf(error: unknown): { readonly name: string; readonly status: number } {
  const { name = 'Error', $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  return { name, status: $metadata?.httpStatusCode ?? 0 };
}

function classOf(name: string, status: number): FailureClass {
  if (name === 'SlowDown' || name === 'TooManyRequestsException' || status === 429) return 'rate-limited';
  if (name.includes('Timeout')) return 'timeout';
  return status >= 400 && status < 500 && status !== 408 ? 'invalid' : 'transient';
}
