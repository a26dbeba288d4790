// An operator without a cluster: hosts for Pipelines from files, the gateway for runners, and a folder for what must outlive it.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { SpecsSchema } from '../../runner/protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { Follower } from '../dispatch/index.ts';
import {
  Gateway,
  type GatewayEvents,
  LEASE_DEFAULTS,
  type LeaseSettings,
  type Pool,
  serveGateway,
  sharedToken,
} from '../gateway/index.ts';
import { type HostSpecs, PipelineHost } from '../host/index.ts';
import { StandaloneFolder } from './folder.ts';

export interface StandaloneOptions {
  /** By "namespace/name". */
  readonly pipelines: ReadonlyMap<string, HostSpecs>;
  readonly folder: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly lease?: LeaseSettings;
  readonly events?: GatewayEvents;
  /** Metrics and traces of a Pipeline. */
  readonly follow?: (pipeline: string) => Follower;
}

export interface StandaloneOperator {
  readonly hosts: ReadonlyMap<string, PipelineHost>;
  readonly port: number;
  readonly epoch: number;
  /** What a runner needs to join. */
  readonly tokenFile: string;
  readonly certFile: string;
  /** A runner process that this operator started has ended: what it had goes to others at once. */
  provenGone(pipeline: string, runner: string): void;
  close(): Promise<void>;
}

export async function startStandalone(options: StandaloneOptions): Promise<StandaloneOperator> {
  const { clock, host, port, lease = LEASE_DEFAULTS, events, pipelines } = options;
  const folder = new StandaloneFolder(options.folder);
  const { cert, key } = await folder.certificate([...new Set([host, 'localhost', '127.0.0.1'])], clock.nowMs());
  const hosts = new Map<string, PipelineHost>();
  const pools = new Map<string, Pool>();
  for (const [name, specs] of pipelines) {
    const follower = options.follow?.(name);
    const one = new PipelineHost({ name, clock, epoch: folder.epoch, specs, ...(follower && { follower }) });
    hosts.set(name, one);
    pools.set(name, { host: one, specs: () => wireSpecs(one.specs) });
  }
  const gateway = new Gateway({
    clock,
    epoch: folder.epoch,
    operator: randomUUID(),
    pools: { find: (pipeline) => pools.get(pipeline) },
    roster: folder,
    defer: setImmediate,
    lease: folder.isFormerGone ? { ...lease, handOverMs: 0 } : lease,
    ...(events === undefined ? {} : { events }),
  });
  gateway.expect(folder.expected);
  for (const one of hosts.values()) one.start();
  const server = await serveGateway({ gateway, authenticate: sharedToken(folder.token()), cert, key, host, port });
  return {
    hosts,
    port: server.port,
    epoch: folder.epoch,
    tokenFile: folder.tokenFile,
    certFile: folder.certFile,
    provenGone: (pipeline, runner) => gateway.provenGone(pipeline, runner, 'its process ended'),
    close: async () => {
      for (const one of hosts.values()) one.close();
      gateway.close('the operator ends');
      await server.close();
    },
  };
}

/** Specs as runners get them: JSON of the objects' specs. */
function wireSpecs({ generation, pipeline, sources }: HostSpecs) {
  return create(SpecsSchema, {
    generation,
    pipeline: JSON.stringify(pipeline),
    sources: [...sources].map(([name, spec]) => ({ name, spec: JSON.stringify(spec) })),
  });
}
