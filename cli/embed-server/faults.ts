// Faults that the embed server plays on request, and the counters by which a test or a user sees what it was asked.

/** Which requests a fault hits: the first N, each Nth, or both. */
export interface Hits {
  readonly first?: number;
  readonly every?: number;
}

/** All faults; none is on by default. */
export interface Faults {
  /** 429. `retryAfter` is sent as it stands, in seconds or as an HTTP date; absent: no header. */
  readonly rateLimited?: Hits & { readonly retryAfter?: string };
  /** 429 for what goes beyond this rate, counted like a strict provider: no second may hold more. */
  readonly requestsPerSecond?: number;
  /** 500. */
  readonly failed?: Hits;
  /** Accepts the request and never answers. */
  readonly silent?: Hits;
  /** Milliseconds before each answer. */
  readonly delayMs?: number;
  /** 413 for requests with more texts. */
  readonly tooManyAbove?: number;
  /** 400 ("maximum context length") for requests that hold a longer text, in characters. */
  readonly tooLongAbove?: number;
  /** 400 for requests that hold a text with this in it. */
  readonly refusedWord?: string;
  /** One vector less than texts. */
  readonly short?: Hits;
  /** Values that are no numbers, for texts with this in them. */
  readonly nanWord?: string;
  /** Vectors of this width, whatever the model's. */
  readonly dimensions?: number;
  /** 400 for requests that ask for base64. */
  readonly noBase64?: boolean;
}

/** Whether the `count`th request (from 1) is hit. */
export function isHit(hits: Hits | undefined, count: number): boolean {
  if (hits === undefined) return false;
  if (hits.first !== undefined && count <= hits.first) return true;
  return hits.every !== undefined && count % hits.every === 0;
}

export interface EmbedServerStats {
  readonly requests: number;
  /** Texts of requests that were answered with vectors. */
  readonly texts: number;
  readonly answers: { readonly [status: string]: number };
  readonly silent: number;
  readonly connections: number;
  readonly inFlightMost: number;
  readonly largestBatch: number;
  /** Most requests within any one second. */
  readonly perSecondMost: number;
  /** Values of the `authorization` header that were seen, without their secrets: how many requests had one. */
  readonly authorized: number;
}

export class Counters {
  requests = 0;
  texts = 0;
  silent = 0;
  connections = 0;
  inFlight = 0;
  inFlightMost = 0;
  largestBatch = 0;
  perSecondMost = 0;
  authorized = 0;
  readonly answers: { [status: string]: number } = {};
  /** Times of the requests of the last second, oldest first. */
  readonly #recentMs: number[] = [];

  began(nowMs: number): void {
    this.requests++;
    this.inFlight++;
    this.inFlightMost = Math.max(this.inFlightMost, this.inFlight);
    this.#recentMs.push(nowMs);
    while (this.#recentMs[0]! <= nowMs - 1000) this.#recentMs.shift();
    this.perSecondMost = Math.max(this.perSecondMost, this.#recentMs.length);
  }

  answered(status: number): void {
    this.inFlight--;
    this.answers[status] = (this.answers[status] ?? 0) + 1;
  }

  /** Requests of the second that ends now, this one included. */
  get perSecond(): number {
    return this.#recentMs.length;
  }

  stats(): EmbedServerStats {
    const { requests, texts, silent, connections, inFlightMost, largestBatch, perSecondMost, authorized } = this;
    return {
      requests,
      texts,
      answers: { ...this.answers },
      silent,
      connections,
      inFlightMost,
      largestBatch,
      perSecondMost,
      authorized,
    };
  }
}
