// Asks the operator. What it refuses becomes an Error with its words; a missing token becomes TokenWanted.

export class TokenWanted extends Error {}

export async function get<T>(path: string): Promise<T> {
  return read<T>(await fetch(path));
}

export async function post<T>(path: string, body: object): Promise<T> {
  return read<T>(await fetch(path, { method: 'POST', body: JSON.stringify(body) }));
}

async function read<T>(answer: Response): Promise<T> {
  if (answer.ok) return (await answer.json()) as T;
  const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
  if (answer.status === 401) throw new TokenWanted(error);
  throw new Error(error ?? `the operator answers ${answer.status}`);
}

export const pipelinePath = (pipeline: string, part: string): string =>
  `/api/v1/pipelines/${pipeline.split('/').map(encodeURIComponent).join('/')}/${part}`;

/** The browser sends it with every request from now on, the stream of events included. */
export function keepToken(token: string): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is there in secure contexts only, and plain HTTP through a port-forward is not one.
  document.cookie = `fairlead-token=${encodeURIComponent(token)}; path=/; SameSite=Strict`;
}
