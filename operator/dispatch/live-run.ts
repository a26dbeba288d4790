// A live run: asked for and not ended. What waits costs one such object, so fields are few and links are intrusive.
import {
  type Json,
  type MountRequest,
  type OrderDraft,
  orderFor,
  type RunNumber,
  type RunOrder,
} from '../../runner/protocol/index.ts';
import type { Run } from '../admission/index.ts';
import type { CancelTimer } from '../clock.ts';
import type { OpenUpdate } from './open-update.ts';
import type { RunView } from './ports.ts';
import type { Seat } from './seat.ts';

/** Where a run stands (D1). Only the dispatcher changes it. */
export type LiveState =
  /** In the tree: for a slot, or for the outcome of another run of its component. */
  | { readonly phase: 'asked'; readonly ask: Run }
  /** Without a slot until its back-off is over (A13). */
  | { readonly phase: 'parked'; readonly wake: CancelTimer }
  /** On a runner. */
  | { readonly phase: 'executing'; readonly seat: Seat; readonly ask: Run }
  /** A `watch` run on a runner: it takes no slot. */
  | { readonly phase: 'watching'; readonly seat: Seat }
  /** A `watch` run, while there is no runner or an older one at its path still drains. */
  | { readonly phase: 'unplaced' }
  | { readonly phase: 'ended' };

export const UNPLACED: LiveState = { phase: 'unplaced' };
export const ENDED: LiveState = { phase: 'ended' };

export class LiveRun implements RunView {
  /** Known from the start, but for a phantom, whose runner has not reported it. */
  number: RunNumber;
  request: MountRequest;
  readonly update: OpenUpdate;
  /** Run that mounted it; undefined for a root run, and once the attempt that mounted it is over. */
  parent: LiveRun | undefined;
  state: LiveState = UNPLACED;
  /** Grants so far. */
  attempt = 0;
  /** Runners that went away under it. */
  losses = 0;
  /** What its parked attempt left for the next one. */
  resume: Json | undefined;
  /** Why it was cancelled; it may still execute. */
  cancelledWhy: string | undefined;
  /** The attempt that mounted it was cut short, and the next one will mount its component again. */
  isAbandoned = false;
  /** The runner of the run that mounted it has it too and tells that one when it is done (D10). */
  isHeardThere = false;
  /** Whether it counts on its seat: a parent whose slot is lent does not (P3). */
  isCounted = false;
  /** Live children, oldest first. */
  firstChild: LiveRun | undefined;
  lastChild: LiveRun | undefined;
  previousSibling: LiveRun | undefined;
  nextSibling: LiveRun | undefined;
  requestedAtMs: number;
  grantedAtMs = 0;
  grantedTo: string | undefined;

  constructor(
    number: RunNumber,
    request: MountRequest,
    update: OpenUpdate,
    parent: LiveRun | undefined,
    nowMs: number,
  ) {
    this.number = number;
    this.request = request;
    this.update = update;
    this.parent = parent;
    this.requestedAtMs = nowMs;
  }

  get path(): string {
    return this.request.path;
  }

  get kind(): string {
    return this.request.kind;
  }

  get key(): string | undefined {
    return this.request.key;
  }

  get runnerClass(): string | undefined {
    return this.request.runnerClass;
  }

  get parentRun(): RunNumber | undefined {
    return this.parent?.number;
  }

  get milliCards(): number {
    return this.request.milliCards ?? 0;
  }

  get mount(): number {
    return this.request.mount;
  }

  /** Seat that has it. */
  get seat(): Seat | undefined {
    return this.state.phase === 'executing' || this.state.phase === 'watching' ? this.state.seat : undefined;
  }

  /** Run whose slot it may borrow: its parent (A7); for an update of a live source the run that mounted that one (A8). */
  get lender(): LiveRun | undefined {
    return this.parent?.kind === 'watch' ? this.parent.parent : this.parent;
  }
}

/** What the runner gets for the present attempt. */
export function orderOf(run: LiveRun, epoch: number, openUpdates: () => readonly string[]): RunOrder {
  const { request, update } = run;
  const order = orderFor(request, {
    token: { epoch, run: run.number, attempt: run.attempt },
    update: update.name,
    updateOf: update.of?.path,
    parentRun: run.parent?.number,
    traceparent: update.traceparent,
  });
  if (run.losses > 0) order.losses = run.losses;
  if (run.resume !== undefined) order.resume = run.resume;
  if (update.root === run) addRootFields(order, update, openUpdates);
  return order;
}

function addRootFields(order: OrderDraft, update: OpenUpdate, openUpdates: () => readonly string[]): void {
  const { trigger, allowDeletes, releaseQuarantined } = update.start;
  order.trigger = trigger;
  if (allowDeletes !== undefined) order.allowDeletes = allowDeletes;
  if (releaseQuarantined !== undefined) order.releaseQuarantined = releaseQuarantined;
  if (order.kind === 'cycle' || order.kind === 'pipeline') order.openUpdates = openUpdates();
}

export function addChild(parent: LiveRun, child: LiveRun): void {
  child.previousSibling = parent.lastChild;
  if (parent.lastChild === undefined) parent.firstChild = child;
  else parent.lastChild.nextSibling = child;
  parent.lastChild = child;
}

export function removeChild(parent: LiveRun, child: LiveRun): void {
  if (child.previousSibling === undefined) parent.firstChild = child.nextSibling;
  else child.previousSibling.nextSibling = child.nextSibling;
  if (child.nextSibling === undefined) parent.lastChild = child.previousSibling;
  else child.nextSibling.previousSibling = child.previousSibling;
  child.previousSibling = undefined;
  child.nextSibling = undefined;
}

export function childrenOf(parent: LiveRun): LiveRun[] {
  const children: LiveRun[] = [];
  for (let child = parent.firstChild; child !== undefined; child = child.nextSibling) children.push(child);
  return children;
}

/** The child that executes, or is to execute, what is wanted. */
export function childAt(parent: LiveRun, wanted: Wanted): LiveRun | undefined {
  for (let child = parent.firstChild; child !== undefined; child = child.nextSibling) {
    if (isOf(child, wanted)) return child;
  }
  return undefined;
}

/** Of what a run is: a component, and its version where the mount named one. */
export type Wanted = Pick<MountRequest, 'path' | 'version'>;

export const isOf = ({ path, request }: LiveRun, wanted: Wanted): boolean =>
  path === wanted.path && request.version === wanted.version;

/** The child that the parent mounted under this number. */
export function childOf(parent: LiveRun, mount: number): LiveRun | undefined {
  for (let child = parent.firstChild; child !== undefined; child = child.nextSibling) {
    if (child.mount === mount) return child;
  }
  return undefined;
}
