// Watches the leader's Lease, so that a follower takes over within milliseconds of a release instead of at its next look.
// Renewals, which come every few seconds, are nothing to it.
import type { Change } from './copy.ts';
import { type KubeObject, LEASES } from './objects.ts';
import { Reflector } from './reflector.ts';
import type { KubeApi } from './rest.ts';

interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string };
}

export class LeaseWatch {
  readonly #reflector: Reflector<Lease>;

  /** `released`: nobody holds the Lease any more. */
  constructor(api: KubeApi, { namespace, name }: { namespace: string; name: string }, released: () => void) {
    this.#reflector = new Reflector<Lease>({
      api,
      resource: LEASES,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      onChange: (change) => {
        if (isFree(change)) released();
      },
    });
  }

  start(): void {
    this.#reflector.start();
  }

  stop(): Promise<void> {
    return this.#reflector.stop();
  }
}

const isFree = (change: Change<Lease>): boolean =>
  change.kind === 'removed' || (change.object.spec?.holderIdentity ?? '') === '';
