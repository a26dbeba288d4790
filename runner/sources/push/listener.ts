// The web side of push sources: a request listener for whoever has a web server.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { SIGNATURE_HEADER, TIME_HEADER } from './message.ts';
import type { PushReply, PushSource } from './source.ts';

/** Finds the source that a path names, such as `/push/namespace/name`. */
export type FindPushSource = (path: string) => PushSource | undefined;

/** Answers POST requests for push sources; the reply is one JSON object with a message. */
export function pushListener(find: FindPushSource): RequestListener {
  return (request, response) => {
    answer(find, request).then(
      ({ status, message }) => send(response, status, message),
      () => response.destroy(),
    );
  };
}

type Answer = Pick<PushReply, 'message'> & { readonly status: number };

async function answer(find: FindPushSource, request: IncomingMessage): Promise<Answer> {
  const source = find((request.url ?? '').split('?', 1)[0] ?? '');
  if (source === undefined) return { status: 404, message: 'there is no push source at this path' };
  if (request.method !== 'POST') return { status: 405, message: 'items are sent by POST' };
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).length;
    if (size > source.maxBodyBytes)
      return { status: 413, message: `the body has more than ${source.maxBodyBytes} bytes` };
    parts.push(part as Buffer);
  }
  return await source.accept({
    time: header(request, TIME_HEADER),
    signature: header(request, SIGNATURE_HEADER),
    body: Buffer.concat(parts),
    traceparent: header(request, 'traceparent'),
  });
}

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
};

function send(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    connection: status === 413 ? 'close' : 'keep-alive',
  });
  response.end(`${JSON.stringify({ message })}\n`);
}
