// Who may look, and who may act.
//   P1. Looking: on loopback anybody of this machine; on any other address only with the token.
//   P2. Acting: always with the token, so that a page in a browser of this machine cannot act for its user.
//   P3. On loopback the Host header must name loopback: otherwise a page of another site could reach us under a name of its own.
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { decoded } from './decoded.ts';

export interface Access {
  /** Bound to loopback only. */
  readonly isLoopback: boolean;
  /** Absent: nobody may act, and on another address than loopback nobody may look. */
  readonly token?: string;
}

export type Verdict = 'look' | 'act' | { readonly refused: 401 | 403; readonly why: string };

export function verdictOf(request: IncomingMessage, { isLoopback, token }: Access): Verdict {
  const shown = shownToken(request);
  if (shown !== undefined) {
    if (token !== undefined && isEqual(shown, token)) return 'act';
    return { refused: 401, why: 'the token is not that of this operator' };
  }
  if (!isLoopback) return { refused: 401, why: 'send the token as `Authorization: Bearer …`' };
  if (!namesLoopback(request.headers.host))
    return { refused: 403, why: 'on loopback the Host header must be localhost, 127.0.0.1 or [::1]' };
  return 'look';
}

function shownToken({ headers }: IncomingMessage): string | undefined {
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer !== undefined) return bearer;
  const [, cookie] = /(?:^|;\s*)fairlead-token=([^;]+)/.exec(headers.cookie ?? '') ?? [];
  return cookie === undefined ? undefined : decoded(cookie);
}

const namesLoopback = (host: string | undefined): boolean =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? '');

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
