// What the source and its helper thread say to each other. Listings are pulled: the helper sends a batch for each `more`.
import type { SourceChange } from '../../protocol/index.ts';

/** To the helper. A job is one listing or one watch, named by a number that the source gives. */
export type Ask =
  | { readonly kind: 'list'; readonly job: number }
  | { readonly kind: 'watch'; readonly job: number }
  | { readonly kind: 'more'; readonly job: number }
  | { readonly kind: 'stop'; readonly job: number };

/** Items by column, which crosses threads faster than objects. */
export interface Columns {
  readonly keys: readonly string[];
  readonly versions: readonly string[];
  readonly sizes: readonly number[];
}

/** From the helper. */
export type Say =
  | { readonly kind: 'batch'; readonly job: number; readonly columns: Columns }
  | { readonly kind: 'armed'; readonly job: number }
  | { readonly kind: 'changes'; readonly job: number; readonly changes: readonly SourceChange[] }
  | { readonly kind: 'notes'; readonly job: number; readonly notes: readonly string[] }
  | { readonly kind: 'ended'; readonly job: number }
  | {
      readonly kind: 'failed';
      readonly job: number;
      readonly class: 'transient' | 'invalid' | 'internal';
      readonly message: string;
    };
