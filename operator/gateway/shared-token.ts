// Authentication outside a cluster: whoever knows the token may serve any Pipeline of this operator.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Authenticate } from './server.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The token is compared in constant time; processes have no names that only one can have. */
export function sharedToken(token: string): Authenticate {
  const expected = digest(token);
  return async (given) => {
    if (!timingSafeEqual(digest(given), expected)) return undefined;
    return { name: 'holder of the shared token', mayServe: () => true, isExclusive: false };
  };
}
