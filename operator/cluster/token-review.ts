// Who opened a stream: a service account token, checked by the API server and against the pod that it is bound to.
//   A1. A token is good only for our audience: without that, any token of the cluster would do.
//   A2. It is bound to a pod, and that pod is in the cache with the same uid, is not being deleted, and is a runner of a Pipeline that this
//       operator hosts. The API server goes on accepting a deleted pod's token for up to 10 s; the cache does not.
//   A3. A pod serves its own Pipeline under its own name, and nothing else.
import type { PodObject, StoredObject } from '../reconcile/index.ts';
import type { KubeApi } from './rest.ts';

export interface RunnerIdentity {
  /** For logs. */
  readonly name: string;
  readonly podKey: string;
  readonly podUid: string;
  mayServe(pipeline: string, runner: string): boolean;
  /** At most one process of the name lives at a time: pods are named deterministically. */
  readonly isExclusive: boolean;
}

export type Authentication =
  | { readonly kind: 'accepted'; readonly identity: RunnerIdentity }
  | { readonly kind: 'refused'; readonly why: string };

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly error?: string;
    readonly audiences?: readonly string[];
    readonly user?: { readonly username?: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  };
}

export interface TokenReviewerOptions {
  readonly api: KubeApi;
  readonly audience: string;
  /** The cache of runner pods, by "namespace/name". */
  readonly pod: (key: string) => PodObject | undefined;
  readonly pipeline: (key: string) => StoredObject | undefined;
}

const POD_NAME = 'authentication.kubernetes.io/pod-name';
const POD_UID = 'authentication.kubernetes.io/pod-uid';

export class TokenReviewer {
  readonly #options: TokenReviewerOptions;

  constructor(options: TokenReviewerOptions) {
    this.#options = options;
  }

  async authenticate(token: string): Promise<Authentication> {
    const { api, audience } = this.#options;
    const review = await api.request<TokenReview>({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
      repeatable: true,
    });
    const { authenticated, audiences = [], user, error } = review.status ?? {};
    if (authenticated !== true)
      return refused(`the token is not accepted: ${error ?? 'the API server does not say why'}`);
    if (!audiences.includes(audience)) return refused(`the token is not for the audience ${audience}`); // A1
    const [, , namespace, account] = (user?.username ?? '').split(':');
    const podName = user?.extra?.[POD_NAME]?.[0];
    const podUid = user?.extra?.[POD_UID]?.[0];
    if (namespace === undefined || account === undefined || podName === undefined || podUid === undefined)
      return refused('the token is not bound to a pod: runners use a projected service account token');
    return this.#bound(namespace, podName, podUid);
  }

  /** A2, A3. */
  #bound(namespace: string, podName: string, podUid: string): Authentication {
    const podKey = `${namespace}/${podName}`;
    const pod = this.#options.pod(podKey);
    if (pod === undefined || pod.metadata.uid !== podUid)
      return refused(`pod ${podKey} is not a runner pod that is known here (it may be gone, or known in a moment)`);
    if (pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== 'Running')
      return refused(`pod ${podKey} is being deleted`);
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const pipelineKey = `${namespace}/${owner?.name ?? ''}`;
    const pipeline = this.#options.pipeline(pipelineKey);
    if (owner === undefined || pipeline === undefined || pipeline.metadata.uid !== owner.uid)
      return refused(`pod ${podKey} belongs to no Pipeline that is there`);
    const identity: RunnerIdentity = {
      name: `pod ${podKey}`,
      podKey,
      podUid,
      mayServe: (asked, runner) => asked === pipelineKey && runner === podName,
      isExclusive: true,
    };
    return { kind: 'accepted', identity };
  }
}

const refused = (why: string): Authentication => ({ kind: 'refused', why });
