// Questions that runners answer, over HTTP. An answer may take minutes: until it comes, blanks keep the connection from being cut, which mean nothing
// before JSON; so the status is sent before it is known how it ends, and a body `{"error"}` says that it did not end well.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import { type Asked, FIRST_TROUBLED, type Question, type TroubledPlace } from '../host/index.ts';

/** Proxies and clients cut what is silent for a minute. */
const BLANK_EVERY_MS = 15_000;

/** The question that a GET asks; undefined: it is none. */
export function questionOf(what: string | undefined, query: URLSearchParams): Question | undefined {
  if (what === 'verify') return { ask: 'verify' };
  return what === 'troubled' ? { ask: 'troubled', after: placeOf(query) } : undefined;
}

function placeOf(query: URLSearchParams): TroubledPlace {
  const id = Number(query.get('id') ?? 0);
  if (!Number.isSafeInteger(id)) return FIRST_TROUBLED;
  return { status: query.get('status') === 'failed' ? 'failed' : 'quarantined', id };
}

/** Sends the answer when it comes; a client that hangs up withdraws the question. */
export async function sendAnswer(response: ServerResponse, { answer, withdraw }: Asked, clock: Clock): Promise<void> {
  response.once('close', withdraw);
  let stop = () => {};
  const keepOpen = (): void => {
    response.write(' ');
    stop = clock.after(BLANK_EVERY_MS, keepOpen);
  };
  stop = clock.after(BLANK_EVERY_MS, keepOpen);
  const answered = await answer;
  stop();
  response.off('close', withdraw);
  const body = answered.kind === 'answered' ? answered.value : { error: answered.why };
  response.end(`${JSON.stringify(body)}\n`);
}
