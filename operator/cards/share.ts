import type { ShareBranch } from './branch.ts';
import type { BranchPath, Share, ShareRequest, ShareState } from './types.ts';

/** The ledger's side of a request; callers see it as `Share`. */
export class ShareEntry implements Share {
  readonly number: number;
  readonly runner: string;
  readonly branch: BranchPath;
  readonly milli: number;
  readonly leaf: ShareBranch;
  state: ShareState = 'waiting';
  cards: readonly number[] = [];
  passedOver = 0;

  constructor(number: number, request: ShareRequest, leaf: ShareBranch) {
    this.number = number;
    this.runner = request.runner;
    this.branch = request.branch;
    this.milli = request.milli;
    this.leaf = leaf;
  }
}
