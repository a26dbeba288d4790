// Orders of runs: what the mount asked for, and where the run belongs.
import type { FencingToken, MountRequest, RunNumber, RunOrder } from './messages.ts';

/** An order that is still being filled in. */
export type OrderDraft = { -readonly [K in keyof RunOrder]: RunOrder[K] };

/** What an order has of its own run's update. */
export interface OrderPlace {
  readonly token: FencingToken;
  readonly update: string;
  readonly updateOf?: string | undefined;
  readonly parentRun?: RunNumber | undefined;
  readonly traceparent?: string | undefined;
}

export function orderFor(request: MountRequest, place: OrderPlace): OrderDraft {
  const { token, update, updateOf, parentRun, traceparent } = place;
  const order: OrderDraft = { token, update, path: request.path, kind: request.kind };
  if (updateOf !== undefined) order.updateOf = updateOf;
  if (request.source !== undefined) order.source = request.source;
  if (request.key !== undefined) order.key = request.key;
  if (request.version !== undefined) order.version = request.version;
  if (request.input !== undefined) order.input = request.input;
  if (request.runnerClass !== undefined) order.runnerClass = request.runnerClass;
  if (request.rows !== undefined) order.rows = request.rows;
  if (request.bytes !== undefined) order.bytes = request.bytes;
  if (request.reprocess !== undefined) order.reprocess = request.reprocess;
  if (request.milliCards !== undefined) order.milliCards = request.milliCards;
  if (parentRun !== undefined) order.parentRun = parentRun;
  if (traceparent !== undefined) order.traceparent = traceparent;
  return order;
}

/** The order of a child that a run on the same runner mounted (`Runner.startMounted`). */
export function childOrder(parent: RunOrder, request: MountRequest, token: FencingToken): RunOrder {
  const { update, updateOf, traceparent } = parent;
  return orderFor(request, { token, update, updateOf, parentRun: parent.token.run, traceparent });
}
