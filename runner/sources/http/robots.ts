// What robots.txt of a site wants. RFC 9309: none (4xx) allows all; one that cannot be had (5xx) would forbid all, which would empty the
// index, so it fails the listing instead.
import robotsParser from 'robots-parser';
import { StepError } from '../../sdk/index.ts';
import { bodyOf, type Web } from './web.ts';

export interface Robots {
  allows(url: string): boolean;
}

/** The size that the RFC wants to be read at least. */
const SIZE_MAX = 512 << 10;
const ALL: Robots = { allows: () => true };

export async function robotsOf(web: Web, origin: string, signal: AbortSignal): Promise<Robots> {
  const url = `${origin}/robots.txt`;
  const reply = await web.ask('GET', url, {}, signal);
  if (reply.status !== 200) reply.body.destroy();
  if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) return ALL;
  if (reply.status !== 200)
    throw new StepError(
      'transient',
      `${url} answered ${reply.status}; until it answers it is not known which pages may be visited`,
    );
  const text = await bodyOf(reply, SIZE_MAX, signal);
  if (text === undefined) throw new StepError('invalid', `${url} is larger than ${SIZE_MAX >> 10} KiB`);
  // Its types describe the module as CommonJS sees it.
  const parse = robotsParser as unknown as (
    url: string,
    text: string,
  ) => { isAllowed(url: string, agent: string): boolean | undefined };
  const rules = parse(url, text.toString('utf8'));
  return { allows: (page) => rules.isAllowed(page, 'fairlead') !== false };
}
