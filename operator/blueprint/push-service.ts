// A Pipeline with a push source in, a Service out: where senders reach its runners.
import { bounded, runnerLabels } from './names.ts';
import { ownedBy } from './runner-pod.ts';

export interface ServiceManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Service';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly unknown[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface PushServiceWish {
  /** Of the Pipeline. */
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Names of Services begin with a letter, those of Pipelines may begin with a digit. */
export const pushServiceName = (pipeline: string): string => `push-${pipeline}`;

export function pushService({ namespace, ...pipeline }: PushServiceWish): ServiceManifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: pushServiceName(pipeline.name),
      namespace,
      labels: {
        'app.kubernetes.io/name': 'fairlead',
        'app.kubernetes.io/instance': bounded(pipeline.name),
        'app.kubernetes.io/component': 'push',
        'app.kubernetes.io/part-of': 'fairlead',
        'app.kubernetes.io/managed-by': 'fairlead',
      },
      ownerReferences: [ownedBy(pipeline)],
    },
    spec: {
      selector: runnerLabels(pipeline),
      ports: [{ name: 'push', port: 80, targetPort: 'push', protocol: 'TCP' }],
    },
  };
}
