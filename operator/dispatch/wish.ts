// What the tree needs to know of a run.
import type { MountRequest } from '../../runner/protocol/index.ts';
import type { RequestOptions } from '../admission/index.ts';
import type { LiveRun } from './live-run.ts';

/** Roots that list are no components: others are executed one at a time, and their outcomes can be shared (A9). */
export const isListed = ({ kind }: Pick<MountRequest, 'kind'>): boolean => kind === 'cycle' || kind === 'pipeline';

export function wishOf(run: LiveRun): RequestOptions {
  const { request, parent } = run;
  const wish: { -readonly [K in keyof RequestOptions]: RequestOptions[K] } = { of: run };
  // Updates of a live source borrow by their branch, not one by one (A8).
  if (parent?.state.phase === 'executing') wish.lender = parent.state.ask;
  if (request.runnerClass !== undefined) wish.runnerClass = request.runnerClass;
  if (request.rows !== undefined) wish.rows = request.rows;
  if (request.bytes !== undefined) wish.bytes = request.bytes;
  if (request.milliCards !== undefined) wish.milliCards = request.milliCards;
  if (!isListed(request)) {
    wish.component = run.path;
    if (request.version !== undefined) wish.version = request.version;
  }
  return wish;
}
