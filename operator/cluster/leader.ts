// Who leads: one Lease, held by one operator at a time.
//
//   E1. Expiry is judged by the local clock since the record last changed, never by comparing wall clocks.
//   E2. `isLeading()` is true only until the start of the last successful renewal plus the renew deadline, whatever an
//       answer says that comes later. Every write asks it first.
//   E3. The epoch is the Lease's `leaseTransitions`. It only grows; a Lease that was deleted starts above every epoch
//       that was seen. The API server would accept a smaller one, so this is ours to keep.
//   E4. A lease is released only after the leader stopped leading.
// A Lease never promises a single writer: two may believe to lead for a moment. Fencing tokens made of the epoch decide.
import type { CancelTimer, Clock } from '../clock.ts';
import type { OwnerReference } from './account.ts';
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts';
import { collectionPath, LEASES, objectPath } from './objects.ts';
import type { KubeApi } from './rest.ts';

export interface LeaseTimes {
  /** How long others wait for a leader that gives no sign of life. */
  readonly durationMs: number;
  /** How long a leader goes on without a renewal that succeeded. */
  readonly renewDeadlineMs: number;
  /** Time between renewals, and between looks of those that follow. */
  readonly retryMs: number;
}

export interface LeaseSettings extends LeaseTimes {
  readonly namespace: string;
  readonly name: string;
  /** Pod name and something random: a restarted pod is another candidate. */
  readonly identity: string;
  /** Whoever a Lease that is made here goes with. */
  readonly owner?: OwnerReference | undefined;
}

/** For Node: longer than Go's 15/10/2 s, since a garbage collection or a busy loop must not cost the lead. */
export const LEASE_TIMES: LeaseTimes = { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 4_000 };

export type LeaderState =
  | { readonly role: 'candidate' }
  | { readonly role: 'follower'; readonly leader: string }
  | { readonly role: 'leader'; readonly epoch: number; readonly untilMs: number }
  | { readonly role: 'stopped' };

export interface LeaderEvents {
  /** The lead was won. The signal aborts when it is lost or given up. */
  onLead(epoch: number, signal: AbortSignal): void;
  onLost(why: string): void;
  onFollow?(leader: string): void;
}

interface LeaseObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export class LeaderElector {
  readonly #api: KubeApi;
  readonly #clock: Clock;
  readonly #settings: LeaseSettings;
  readonly #events: LeaderEvents;
  readonly #stop = new AbortController();
  #state: LeaderState = { role: 'candidate' };
  #lead: AbortController | undefined;
  /** The record as last read or written, and when it was first seen in that form (E1). */
  #seen: { readonly lease: LeaseObject; readonly sinceMs: number } | undefined;
  #highestEpoch = 0;
  #timer: CancelTimer = () => {};
  #expiry: CancelTimer = () => {};
  #busy: Promise<void> | undefined;
  /** The lease changed while it was looked at: what was read may be what it was before. */
  #isStale = false;

  constructor(api: KubeApi, settings: LeaseSettings, events: LeaderEvents) {
    this.#api = api;
    this.#clock = api.clock;
    this.#settings = settings;
    this.#events = events;
  }

  get state(): LeaderState {
    return this.#state;
  }

  /** E2: whether this process may act as the leader now. */
  isLeading(): boolean {
    return this.#state.role === 'leader' && this.#clock.nowMs() < this.#state.untilMs;
  }

  /** An epoch that somebody else saw, such as a runner: the next one that is won lies above it (E3). */
  noteEpoch(epoch: number): void {
    this.#highestEpoch = Math.max(this.#highestEpoch, epoch);
  }

  start(): void {
    this.#tick();
  }

  /** A watcher saw that the lease changed: look now, so that a released lease is taken within milliseconds. */
  leaseChanged(): void {
    if (this.#state.role === 'leader') return;
    this.#isStale = this.#busy !== undefined;
    this.#tick();
  }

  /** Stops; a leader releases the lease after `settled` (its workers have ended), so that a follower takes over at once. */
  async stop(settled: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#timer();
    this.#expiry();
    const wasLeader = this.#state.role === 'leader';
    this.#stop.abort();
    await this.#busy;
    this.#endLead('the operator stops');
    this.#state = { role: 'stopped' };
    await settled;
    if (wasLeader) await this.#release(); // E4
  }

  #tick(): void {
    this.#timer();
    if (this.#stop.signal.aborted) return;
    this.#busy ??= this.#step().finally(() => {
      this.#busy = undefined;
      if (!this.#stop.signal.aborted) this.#tickLater();
    });
  }

  #tickLater(): void {
    const isStale = this.#isStale && this.#state.role !== 'leader';
    this.#isStale = false;
    if (isStale) return this.#tick();
    const jitter = 0.8 + 0.4 * this.#api.random();
    this.#timer = this.#clock.after(this.#settings.retryMs * jitter, () => this.#tick());
  }

  async #step(): Promise<void> {
    const startedMs = this.#clock.nowMs();
    try {
      if (this.#state.role === 'leader') await this.#renew(startedMs);
      else await this.#tryToWin(startedMs);
    } catch (error) {
      // Not reached or refused: a leader goes on until its time is up, which #expiry watches; a candidate tries again.
      if (this.#state.role === 'leader' && (isConflict(error) || isNotFound(error)))
        this.#lose('another operator took the lease');
    }
  }

  async #tryToWin(startedMs: number): Promise<void> {
    const lease = await this.#read();
    if (lease === undefined) return this.#won(await this.#create(), startedMs);
    this.#see(lease);
    const holder = lease.spec.holderIdentity ?? '';
    if (holder !== '' && holder !== this.#settings.identity && !this.#isExpired(lease)) {
      if (this.#state.role !== 'follower' || this.#state.leader !== holder) this.#events.onFollow?.(holder);
      this.#state = { role: 'follower', leader: holder };
      return;
    }
    const epoch = Math.max(this.#highestEpoch, lease.spec.leaseTransitions ?? 0) + 1;
    const written = await this.#write(lease, epoch, this.#settings.identity).catch((error: unknown) => {
      if (isConflict(error)) return undefined; // somebody was faster
      throw error;
    });
    if (written !== undefined) this.#won(written, startedMs);
  }

  async #renew(startedMs: number): Promise<void> {
    const { lease } = this.#seen!;
    const written = await this.#write(lease, lease.spec.leaseTransitions ?? 0, this.#settings.identity);
    this.#extend(written, startedMs);
  }

  #won(lease: LeaseObject, startedMs: number): void {
    const epoch = lease.spec.leaseTransitions ?? 0;
    this.noteEpoch(epoch);
    if (this.#clock.nowMs() >= startedMs + this.#settings.renewDeadlineMs) return; // E2: too late to count
    this.#lead = new AbortController();
    this.#state = { role: 'leader', epoch, untilMs: 0 };
    this.#extend(lease, startedMs);
    this.#events.onLead(epoch, this.#lead.signal);
  }

  /** E2: counted from when the request was sent, not from when it was answered. */
  #extend(lease: LeaseObject, startedMs: number): void {
    this.#see(lease);
    if (this.#state.role !== 'leader') return;
    const untilMs = startedMs + this.#settings.renewDeadlineMs;
    this.#state = { ...this.#state, untilMs };
    this.#expiry();
    this.#expiry = this.#clock.after(Math.max(0, untilMs - this.#clock.nowMs()), () =>
      this.#lose('the lease could not be renewed in time'),
    );
  }

  #lose(why: string): void {
    if (this.#state.role !== 'leader') return;
    this.#expiry();
    this.#state = { role: 'candidate' };
    this.#endLead(why);
  }

  #endLead(why: string): void {
    const lead = this.#lead;
    if (lead === undefined) return;
    this.#lead = undefined;
    lead.abort(new Error(why));
    this.#events.onLost(why);
  }

  #see(lease: LeaseObject): void {
    if (this.#seen?.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) {
      this.#seen = { lease, sinceMs: this.#clock.nowMs() };
    }
    this.noteEpoch(lease.spec.leaseTransitions ?? 0);
  }

  #isExpired(lease: LeaseObject): boolean {
    const durationMs = (lease.spec.leaseDurationSeconds ?? 0) * 1000;
    return this.#clock.nowMs() >= this.#seen!.sinceMs + durationMs;
  }

  // ---- requests ----------------------------------------------------------------------------------------------------

  async #read(): Promise<LeaseObject | undefined> {
    try {
      return await this.#request<LeaseObject>('GET', this.#path());
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #create(): Promise<LeaseObject> {
    const { namespace, name, identity, owner } = this.#settings;
    const metadata = { namespace, name, ...(owner && { ownerReferences: [owner] }) };
    const path = collectionPath(LEASES, namespace);
    try {
      return await this.#request<LeaseObject>('POST', path, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata,
        spec: this.#spec(this.#highestEpoch + 1, identity, undefined),
      });
    } catch (error) {
      if (isAlreadyExists(error)) throw new Error('another operator created the lease first', { cause: error });
      throw error;
    }
  }

  #write(lease: LeaseObject, epoch: number, identity: string): Promise<LeaseObject> {
    const acquired = lease.spec.holderIdentity === identity ? lease.spec.acquireTime : undefined;
    return this.#request<LeaseObject>('PUT', this.#path(), { ...lease, spec: this.#spec(epoch, identity, acquired) });
  }

  /**
   * The renewal that the end broke off may have been carried out, so a conflict is looked at once more. An unreachable server costs only
   * time: the lease then expires by itself.
   */
  async #release(): Promise<void> {
    try {
      await this.#putReleased(this.#seen!.lease);
    } catch (error) {
      if (!isConflict(error)) return;
      const lease = await this.#send<LeaseObject>('GET', this.#path()).catch(() => undefined);
      if (lease?.spec.holderIdentity === this.#settings.identity) await this.#putReleased(lease).catch(() => {});
    }
  }

  #putReleased(lease: LeaseObject): Promise<unknown> {
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#now() };
    return this.#send('PUT', this.#path(), { ...lease, spec });
  }

  #spec(epoch: number, identity: string, acquired: string | undefined): LeaseObject['spec'] {
    const now = this.#now();
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(this.#settings.durationMs / 1000)),
      acquireTime: acquired ?? now,
      renewTime: now,
      leaseTransitions: epoch,
    };
  }

  #now(): string {
    return microTime(this.#clock.nowMs());
  }

  #path(): string {
    return objectPath(LEASES, this.#settings);
  }

  /** A request that ends with the elector: stopping must not wait for a server that hangs. */
  #request<T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<T> {
    return this.#send<T>(method, path, body, this.#stop.signal);
  }

  #send<T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const deadlineMs = this.#settings.renewDeadlineMs / 2;
    return this.#api.request<T>({ method, path, pool: 'lease', deadlineMs, tries: 1, body, ...(signal && { signal }) });
  }
}

/** Kubernetes' MicroTime: exactly six fractional digits; three are refused with a 400 (F102). */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}
