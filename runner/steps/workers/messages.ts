// What crosses between the pool and its worker threads.
import type { FailureClass } from '../../sdk/index.ts';

export interface TaskOrder {
  readonly id: number;
  readonly task: string;
  readonly input: unknown;
}

export type TaskReply =
  /** The thread runs and takes tasks. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown; readonly retire: boolean }
  | { readonly kind: 'failed'; readonly id: number; readonly class: FailureClass; readonly message: string };
