// Asks an operator's API, and turns what goes wrong into words.
import { CommandError } from '../exit.ts';
import type { ApiPlace } from './place.ts';

const ANSWER_WITHIN_MS = 20_000;

/** Who waits longer for a runner is told where to look. */
const ANSWER_SOON_MS = 10_000;
const STILL_WAITING =
  'a runner is to look, and has not answered yet: fairlead top tells whether one is there, Ctrl-C stops waiting\n';

export class ApiClient {
  readonly place: ApiPlace;

  constructor(place: ApiPlace) {
    this.place = place;
  }

  get<T>(path: string): Promise<T> {
    return this.#soon<T>(path, {});
  }

  /** Undefined: there is no such thing. */
  async find<T>(path: string): Promise<T | undefined> {
    const answer = await this.#send(path, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return answer.status === 404 ? undefined : ((await (await this.#accepted(answer)).json()) as T);
  }

  post<T>(path: string, body: object): Promise<T> {
    return this.#soon<T>(path, { method: 'POST', body: JSON.stringify(body) });
  }

  /** A question that runners answer, however long that takes; `act`: it mends what it finds. */
  async ask<T extends object>(path: string, act = false): Promise<T> {
    const patience = setTimeout(() => process.stderr.write(STILL_WAITING), ANSWER_SOON_MS);
    const said = await this.#asked<T>(path, act).finally(() => clearTimeout(patience));
    if ('error' in said) throw new CommandError(said.error);
    return said;
  }

  async #asked<T>(path: string, act: boolean): Promise<T | { readonly error: string }> {
    const answer = await this.#fetch(path, act ? { method: 'POST', body: '{}' } : {});
    return (await bodyOf(answer)) as T | { readonly error: string };
  }

  /** Parsed events of the stream until `signal` aborts. */
  async *events<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
    const answer = await this.#fetch(path, { signal });
    const decoder = new TextDecoder();
    let rest = '';
    for await (const part of answer.body ?? []) {
      const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as T;
    }
  }

  async #soon<T>(path: string, init: RequestInit): Promise<T> {
    const answer = await this.#fetch(path, { ...init, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return (await answer.json()) as T;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    return this.#accepted(await this.#send(path, init));
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const { url, token } = this.place;
    const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    try {
      return await fetch(new URL(path, url), { ...init, headers });
    } catch (error) {
      throw new CommandError(`${url} does not answer: ${causeOf(error)}`);
    }
  }

  async #accepted(answer: Response): Promise<Response> {
    if (answer.ok) return answer;
    const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
    throw new CommandError(error ?? `${this.place.url} answers ${answer.status}`);
  }
}

async function bodyOf(answer: Response): Promise<unknown> {
  try {
    return await answer.json();
  } catch (error) {
    throw new CommandError(`the operator ended before it answered: ${causeOf(error)}; ask again`);
  }
}

/** What went wrong below `fetch`, which itself says nothing of it. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Path of a Pipeline's part: "namespace/name". */
export const pathOf = (pipeline: string, part = ''): string =>
  `/api/v1/pipelines/${pipeline.split('/').map(encodeURIComponent).join('/')}${part}`;
