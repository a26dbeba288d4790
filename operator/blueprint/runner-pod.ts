// A Pipeline and a class of runner in, a pod out.
import { API_VERSION, GROUP, KINDS, LABELS, type Pipeline, type RunnerSpec } from '../../crds/schema/index.ts';
import { bounded, runnerLabels, runnerPodName, shortHash } from './names.ts';
import { overlay } from './template.ts';

/** What all runner pods of an installation share. */
export interface RunnerPodSettings {
  readonly image: string;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  readonly imagePullSecrets: readonly string[];
  /** Host and port of the Service that leads to the leader. */
  readonly operatorAddress: string;
  /** Certificates that the operator's are signed with, PEM; several while they rotate. */
  readonly operatorCa: string;
  /** Audience of the runners' tokens. */
  readonly audience: string;
  readonly version: string;
  /** Time that a pod gets for draining. */
  readonly graceS: number;
  /** Labels and annotations that pods inherit from their Pipeline, by name. */
  readonly inherited: readonly string[];
}

export interface RunnerPodWish {
  /** The Pipeline, with its uid. */
  readonly pipeline: Pipeline & { readonly metadata: { readonly uid?: string | undefined } };
  readonly runner: RunnerSpec;
  readonly ordinal: number;
  /** Secrets to mount (`SecretNames`). */
  readonly secrets: readonly string[];
  readonly settings: RunnerPodSettings;
}

/** Annotation with the fingerprint of all that needs a new pod when it changes. */
export const FINGERPRINT = `${GROUP}/fingerprint`;
/** Ordinal of the pod within its class. */
export const ORDINAL = `${GROUP}/ordinal`;
/** Certificates of the operator; the pod reads them as a file. */
const OPERATOR_CA = `${GROUP}/operator-ca`;
export const RUNNER_CONTAINER = 'runner';

const SECRETS_DIR = '/var/run/fairlead/secrets';
const TOKEN_DIR = '/var/run/fairlead/token';
const CA_DIR = '/var/run/fairlead/ca';
const DATA_DIR = '/var/lib/fairlead';
/** Where push sources listen, behind the Service of `pushService`. */
export const PUSH_PORT = 4180;
/** User of the image; a number, so that `runAsNonRoot` can be checked. */
const USER_ID = 10001;
/** Time that a runner leaves itself to say goodbye before it is killed. */
const GRACE_MARGIN_S = 5;
/** The kubelet renews a token at 80 % of its life, so a shorter one would be renewed all the time. */
const TOKEN_S = 3600;

export interface PodManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly unknown[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The pod that stands for one runner. Its name follows from Pipeline, class and ordinal alone. */
export function runnerPod(wish: RunnerPodWish): PodManifest {
  const { pipeline, runner, ordinal } = wish;
  const { metadata, spec } = laidOver(wish);
  const name = runnerPodName(pipeline.metadata.name, runner.name, ordinal);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: pipeline.metadata.namespace ?? 'default',
      labels: { ...metadata.labels, ...ownLabels(wish), ...runnerLabels(owner(pipeline), runner.name) }, // B3
      annotations: {
        ...metadata.annotations,
        [FINGERPRINT]: fingerprint(wish),
        [ORDINAL]: String(ordinal),
        [OPERATOR_CA]: wish.settings.operatorCa,
      },
      ownerReferences: [ownedBy(owner(pipeline))],
    },
    spec,
  };
}

/** Changes exactly when a running pod no longer is what the spec asks for. The ordinal is no part of it. */
export function fingerprint(wish: RunnerPodWish): string {
  const { metadata, spec } = laidOver({ ...wish, ordinal: 0 });
  return shortHash({ metadata, spec, ca: wish.settings.operatorCa }, 16);
}

const owner = (pipeline: RunnerPodWish['pipeline']) => ({
  name: pipeline.metadata.name,
  uid: pipeline.metadata.uid ?? '',
});

/** Reference of a child to the Pipeline that controls it. */
export const ownedBy = (pipeline: { readonly name: string; readonly uid: string }) => ({
  apiVersion: API_VERSION,
  kind: KINDS.Pipeline.kind,
  ...pipeline,
  controller: true,
  blockOwnerDeletion: true,
});

interface Template {
  readonly metadata: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> };
  readonly spec: Record<string, unknown>;
}

function laidOver(wish: RunnerPodWish): Template {
  const template = (wish.runner.template ?? {}) as Partial<Template>;
  const base: Template = { metadata: inherited(wish), spec: podSpec(wish) };
  const merged = overlay(base, { metadata: template.metadata, spec: template.spec }) as Template;
  const { labels = {}, annotations = {} } = merged.metadata;
  return { metadata: { labels, annotations }, spec: merged.spec };
}

function inherited({ pipeline, settings }: RunnerPodWish): Template['metadata'] {
  const pick = (from: Readonly<Record<string, string>> | undefined) =>
    Object.fromEntries(Object.entries(from ?? {}).filter(([name]) => settings.inherited.includes(name)));
  return { labels: pick(pipeline.metadata.labels), annotations: pick(pipeline.metadata.annotations) };
}

function ownLabels({ pipeline, settings }: RunnerPodWish): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'fairlead',
    'app.kubernetes.io/instance': bounded(pipeline.metadata.name),
    'app.kubernetes.io/component': 'runner',
    'app.kubernetes.io/version': bounded(settings.version),
    'app.kubernetes.io/part-of': 'fairlead',
    'app.kubernetes.io/managed-by': 'fairlead',
  };
}

// ---- the pod itself ------------------------------------------------------------------------------------------------

function podSpec(wish: RunnerPodWish): Record<string, unknown> {
  const { runner, settings } = wish;
  return {
    containers: [container(wish)],
    volumes: volumes(wish),
    restartPolicy: 'Always',
    // Named, since a token can be projected only for a named account; it has no rights here.
    serviceAccountName: 'default',
    terminationGracePeriodSeconds: settings.graceS,
    automountServiceAccountToken: false, // a runner has no business with the API server
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER_ID,
      runAsGroup: USER_ID,
      fsGroup: USER_ID,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(settings.imagePullSecrets.length > 0 && {
      imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })),
    }),
    ...(runner.gpus > 0 && { tolerations: [{ key: runner.resourceName, operator: 'Exists', effect: 'NoSchedule' }] }),
  };
}

function container(wish: RunnerPodWish): Record<string, unknown> {
  const { runner, settings } = wish;
  return {
    name: RUNNER_CONTAINER,
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    // A runner that cannot open its state or a target says so and ends: its last words then stand in the condition.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    args: runnerArguments(wish),
    env: environment(),
    ports: [{ name: 'push', containerPort: PUSH_PORT }], // listens only where the Pipeline has a push source
    resources: hasOwnCards(runner) ? { limits: { [runner.resourceName]: String(runner.gpus) } } : {},
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'data', mountPath: DATA_DIR },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'token', mountPath: TOKEN_DIR, readOnly: true },
      { name: 'ca', mountPath: CA_DIR, readOnly: true },
      ...wish.secrets.map((secret) => ({
        name: secretVolume(secret),
        mountPath: `${SECRETS_DIR}/${secret}`,
        readOnly: true,
      })),
    ],
  };
}

function runnerArguments({ pipeline, runner, settings }: RunnerPodWish): string[] {
  const flags: Record<string, string> = {
    operator: `https://${settings.operatorAddress}`,
    ca: `${CA_DIR}/ca.crt`,
    token: `${TOKEN_DIR}/token`,
    pipeline: `${pipeline.metadata.namespace ?? 'default'}/${pipeline.metadata.name}`,
    name: '$(FAIRLEAD_POD_NAME)', // the kubelet fills it in, so that all pods of a class are alike
    class: runner.name,
    slots: String(runner.slots),
    gpus: String(runner.gpus),
    data: DATA_DIR,
    secrets: SECRETS_DIR,
    'push-address': `0.0.0.0:${PUSH_PORT}`,
    grace: String(Math.max(1, settings.graceS - GRACE_MARGIN_S)),
  };
  return ['runner', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])];
}

/** A device belongs to one container: where a model server beside the runner asks for the cards, the runner itself has none. */
function hasOwnCards({ gpus, resourceName, template }: RunnerPodWish['runner']): boolean {
  if (gpus === 0) return false;
  const { containers = [], initContainers = [] } = (template?.spec ?? {}) as TemplateContainers;
  return ![...containers, ...initContainers].some(
    ({ name, resources }) => name !== RUNNER_CONTAINER && resources?.limits?.[resourceName] !== undefined,
  );
}

/** What is looked at of a template that is not modelled. */
interface TemplateContainers {
  readonly containers?: readonly TemplateContainer[];
  readonly initContainers?: readonly TemplateContainer[];
}

interface TemplateContainer {
  readonly name?: string;
  readonly resources?: { readonly limits?: Readonly<Record<string, unknown>> };
}

function environment(): unknown[] {
  const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
  return [
    { name: 'HOME', value: '/tmp' }, // git wants one, and the root file system is read-only
    { name: 'FAIRLEAD_POD_NAME', ...field('metadata.name') },
    { name: 'FAIRLEAD_POD_NAMESPACE', ...field('metadata.namespace') },
    { name: 'FAIRLEAD_POD_UID', ...field('metadata.uid') },
    { name: 'FAIRLEAD_NODE_NAME', ...field('spec.nodeName') },
  ];
}

function volumes({ pipeline, secrets, settings }: RunnerPodWish): unknown[] {
  const claimName = pipeline.spec.state.sqlite?.claimName;
  const token = { audience: settings.audience, expirationSeconds: TOKEN_S, path: 'token' };
  return [
    claimName === undefined ? { name: 'data', emptyDir: {} } : { name: 'data', persistentVolumeClaim: { claimName } },
    { name: 'tmp', emptyDir: {} },
    { name: 'token', projected: { sources: [{ serviceAccountToken: token }] } },
    {
      name: 'ca',
      downwardAPI: {
        items: [{ path: 'ca.crt', fieldRef: { fieldPath: `metadata.annotations['${OPERATOR_CA}']` } }],
      },
    },
    // Optional: a LiveSource whose Secret is not there must not keep the others of its Pipeline from a runner.
    ...secrets.map((secretName) => ({
      name: secretVolume(secretName),
      secret: { secretName, defaultMode: 0o440, optional: true },
    })),
  ];
}

/** Volume names are shorter than names of Secrets and take no dots. */
const secretVolume = (secret: string): string =>
  bounded(`secret-${secret.replaceAll('.', '-')}-${shortHash(secret, 5)}`);

/** Selector of all runner pods of the installation. */
export const RUNNER_SELECTOR = `${LABELS.ownerUid},app.kubernetes.io/component=runner`;
