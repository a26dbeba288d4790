// What the calls of a run wait for that want a share of a card: who holds the cards of its runner, and who else waits there.
import type { CardView, RunPicture } from '../dispatch/index.ts';
import type { Watched } from './watched.ts';

const HOLDERS_SHOWN = 3;

/** A sentence for each call of the run that waits for a share; none: no call does. */
export function cardSays({ dispatcher }: Watched, { number }: RunPicture, nowMs: number): string[] {
  const shares = dispatcher.cards.shares();
  const waiting = shares.filter(({ run, grantedAtMs }) => run === number && grantedAtMs === undefined);
  return waiting.map((call) => {
    const here = shares.filter(({ runner }) => runner === call.runner);
    const others = here.filter(({ grantedAtMs }) => grantedAtMs === undefined).length - 1;
    const sinceS = Math.round((nowMs - call.askedAtMs) / 1_000);
    const beside = others === 0 ? '' : `; ${others} other calls wait there`;
    return `its call waits for ${shareText(call.milli)} on ${call.runner} since ${sinceS} s; held there: ${holders(here)}${beside}`;
  });
}

/** Updates that hold most of a runner's cards. */
function holders(shares: readonly CardView[]): string {
  const held = new Map<string, number>();
  for (const { update, milli, grantedAtMs } of shares)
    if (grantedAtMs !== undefined) held.set(update, (held.get(update) ?? 0) + milli);
  const most = [...held].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const shown = most.slice(0, HOLDERS_SHOWN).map(([update, milli]) => `${shareText(milli)} by ${update}`);
  if (most.length > HOLDERS_SHOWN) shown.push(`more by ${most.length - HOLDERS_SHOWN} other updates`);
  return shown.length === 0 ? 'nothing: a card drains for a whole request' : shown.join(', ');
}

function shareText(milli: number): string {
  if (milli < 1_000) return `${milli}m of a card`;
  return milli === 1_000 ? 'a card' : `${milli / 1_000} cards`;
}
