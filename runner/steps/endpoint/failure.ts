// What an HTTP answer that is no success means for the step that asked.
import { type FailureClass, StepError } from '../../sdk/index.ts';
import type { Hide } from '../../secrets.ts';

export interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
}

/** Longest part of a server's words in a message for people. */
const WORDS_MAX = 300;

/** A refusal with its status, for those who must tell one from another. */
export class EndpointError extends StepError {
  readonly status: number;
  /** What the server said, shortened and without secrets. */
  readonly words: string;

  constructor(failure: FailureClass, message: string, status: number, words: string, retryAfterMs?: number) {
    super(failure, message, retryAfterMs === undefined ? {} : { retryAfterMs });
    this.name = 'EndpointError';
    this.status = status;
    this.words = words;
  }
}

/** The error for a refusal. Servers repeat what they were shown, so `hide` takes secrets out of it. */
export function refused(name: string, { status, body, retryAfterMs }: Refusal, hide: Hide): EndpointError {
  const words = hide(wordsOf(body)).slice(0, WORDS_MAX);
  const failure = classOf(status, words);
  const said = words === '' ? '' : `: ${words}`;
  return new EndpointError(
    failure,
    `${name} answered ${status}${said}${adviceFor(status)}`,
    status,
    words,
    retryAfterMs,
  );
}

/** Texts by which servers say that an input or a batch is too large; none of them has a code for it. */
const TOO_LARGE =
  /too (long|large|many)|max(imum)? (context|sequence|input|batch|model)|context (length|window)|(longer|larger|more) than|exceed|batch size/i;

function classOf(status: number, words: string): FailureClass {
  if (status === 429) return 'rate-limited';
  if (status === 413) return 'too-large';
  if (status === 408 || status === 504) return 'timeout';
  if (status >= 500 || status === 409 || status === 425) return 'transient';
  if ((status === 400 || status === 422) && TOO_LARGE.test(words)) return 'too-large';
  return 'invalid';
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return ' (is keyFrom set, and is the key valid?)';
  if (status === 404) return ' (is url the base address, such as http://host/v1, and does the server know the model?)';
  if (status >= 300 && status < 400) return ' (redirects are not followed: set the address that it leads to)';
  return '';
}

/** The message of an OpenAI-shaped error, of FastAPI's, or the text itself. */
function wordsOf(body: string): string {
  const found = messageIn(body) ?? body;
  return found.replace(/\s+/g, ' ').trim();
}

function messageIn(body: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { error, message, detail } = parsed as { error?: unknown; message?: unknown; detail?: unknown };
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
  for (const candidate of [error, message, detail]) if (typeof candidate === 'string') return candidate;
  return undefined;
}
