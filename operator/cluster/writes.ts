// The writes of the reconcilers on the API server.
//   Every write asks first whether this operator still leads (E2), carries the uid of what it means, and says what came of it as a value.
import { API_VERSION } from '../../crds/schema/index.ts';
import type { PodManifest, ServiceManifest } from '../blueprint/index.ts';
import type { CreateResult, StoredObject, WriteResult, Writes } from '../reconcile/index.ts';
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
  isQuotaExceeded,
  NotLeading,
  Unreachable,
} from './errors.ts';
import { collectionPath, LIVE_SOURCES, objectPath, PIPELINES, PODS, type Resource, SERVICES } from './objects.ts';
import type { ApiRequest, KubeApi } from './rest.ts';

/** Field managers: one for each role, so that statuses and finalizers never take each other's fields. */
const STATUS_MANAGER = 'fairlead-status';
const CONTROLLER_MANAGER = 'fairlead-controller';

/** A right that is missing, a quota, a Service of somebody else, a controller of another kind. */
const SERVICE_REFUSED: ReadonlySet<number> = new Set([403, 409, 422]);

export class ClusterWrites implements Writes {
  readonly #api: KubeApi;
  readonly #isLeading: () => boolean;

  constructor(api: KubeApi, isLeading: () => boolean) {
    this.#api = api;
    this.#isLeading = isLeading;
  }

  async createPod(manifest: PodManifest, signal: AbortSignal): Promise<CreateResult> {
    try {
      await this.#send({ method: 'POST', path: podsPath(manifest), query: manager(), body: manifest, signal });
      return { kind: 'created' };
    } catch (error) {
      if (isAlreadyExists(error)) return { kind: 'exists' };
      if (isQuotaExceeded(error)) return refused('quota', error);
      if (isNamespaceTerminating(error)) return refused('namespace-terminating', error);
      if (isRefusedTemplate(error)) return refused('template', error);
      if (error instanceof Unreachable) return { kind: 'unknown', message: error.message };
      throw error;
    }
  }

  async checkPod(manifest: PodManifest, signal: AbortSignal): Promise<string | undefined> {
    const query = { ...manager(), dryRun: 'All', fieldValidation: 'Strict' };
    try {
      await this.#send({ method: 'POST', path: podsPath(manifest), query, body: manifest, signal, repeatable: true });
      return undefined;
    } catch (error) {
      if (isRefusedTemplate(error)) return (error as ApiError).message;
      if (error instanceof ApiError && (isAlreadyExists(error) || error.code === 403)) return undefined;
      throw error;
    }
  }

  deletePod(pod: StoredObject, signal: AbortSignal): Promise<WriteResult> {
    const preconditions = { uid: pod.metadata.uid };
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
    return this.#settled({ method: 'DELETE', path: objectPath(PODS, pod.metadata), body, signal });
  }

  /** Without force: fields of a Service that somebody else made are a conflict. */
  async applyService(manifest: ServiceManifest, signal: AbortSignal): Promise<string | undefined> {
    const path = objectPath(SERVICES, manifest.metadata);
    const contentType = 'application/apply-patch+yaml';
    try {
      await this.#send({ method: 'PATCH', path, query: manager(), contentType, body: manifest, signal });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && SERVICE_REFUSED.has(error.code)) return error.message;
      throw error;
    }
  }

  setFinalizers(object: StoredObject, finalizers: readonly string[], signal: AbortSignal): Promise<WriteResult> {
    const { uid, resourceVersion } = object.metadata;
    return this.#settled({
      method: 'PATCH',
      path: objectPath(resourceOf(object), object.metadata),
      query: manager(),
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, resourceVersion, finalizers } },
      signal,
    });
  }

  async applyStatus(object: StoredObject, status: object, signal: AbortSignal): Promise<WriteResult> {
    const { name, namespace, uid } = object.metadata;
    return this.#settled({
      method: 'PATCH',
      path: objectPath(resourceOf(object), object.metadata, 'status'),
      query: { fieldManager: STATUS_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion: API_VERSION, kind: object.kind, metadata: { name, namespace, uid }, status },
      signal,
    });
  }

  /** 404: it is gone; 409, or 422 about the uid: it is another one by now. */
  async #settled(request: ApiRequest): Promise<WriteResult> {
    try {
      await this.#send(request);
      return 'done';
    } catch (error) {
      if (isNotFound(error)) return 'gone';
      if (isConflict(error)) return 'conflict';
      const isOther = error instanceof ApiError && error.code === 422 && error.causes.some(isUid);
      if (isOther) return 'gone';
      throw error;
    }
  }

  #send<T>(request: ApiRequest): Promise<T> {
    if (!this.#isLeading()) return Promise.reject(new NotLeading());
    return this.#api.request<T>(request);
  }
}

const manager = () => ({ fieldManager: CONTROLLER_MANAGER });
const podsPath = ({ metadata }: PodManifest): string => collectionPath(PODS, metadata.namespace);
const isUid = ({ field = '' }: { readonly field?: string }): boolean => field.endsWith('uid');
const isRefusedTemplate = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 400 || error.code === 422 || isPodSecurity(error));
/** Pod Security answers 403, as quotas do; only an edit of the template or the namespace helps. */
const isPodSecurity = ({ code, message }: ApiError): boolean => code === 403 && message.includes('PodSecurity');

function refused(why: Extract<CreateResult, { kind: 'refused' }>['why'], error: unknown): CreateResult {
  return { kind: 'refused', why, message: error instanceof Error ? error.message : String(error) };
}

function resourceOf({ kind }: StoredObject): Resource {
  return kind === PIPELINES.kind ? PIPELINES : LIVE_SOURCES;
}
