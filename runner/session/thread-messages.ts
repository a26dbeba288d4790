// What passes between the engine's thread and the link's.
import type { RunnerIdentity } from './link.ts';

export interface LinkThreadOptions {
  readonly identity: RunnerIdentity;
  /** Operators, such as https://fairlead-operator:8443; tried in turn. */
  readonly addresses: readonly string[];
  /** Certificates of the authorities, PEM. */
  readonly ca: string;
  /** File with what proves who the runner is; read for each stream. */
  readonly tokenFile: string;
}

export type ToLink =
  | { readonly kind: 'batch' | 'report'; readonly opening: number; readonly bytes: Uint8Array }
  | { readonly kind: 'leave'; readonly why: string }
  | { readonly kind: 'stopped' | 'gone' | 'pong' | 'close' };

/** Specs as they stand in the objects, JSON. */
export interface RunnerSpecs {
  readonly generation: number;
  readonly pipeline: string;
  readonly sources: readonly { readonly name: string; readonly spec: string }[];
}

export type FromLink =
  | { readonly kind: 'opened'; readonly opening: number; readonly epoch: number }
  | { readonly kind: 'batch'; readonly opening: number; readonly bytes: Uint8Array }
  | { readonly kind: 'acknowledged'; readonly opening: number; readonly batch: number }
  | { readonly kind: 'ready'; readonly opening: number }
  | { readonly kind: 'over' | 'kill'; readonly why: string }
  | ({ readonly kind: 'specs' } & RunnerSpecs)
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'ping' };
