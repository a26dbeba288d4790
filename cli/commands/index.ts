// The commands of `fairlead`. A command's file is loaded only when it is called, so that `fairlead --help` starts fast;
// what the list of commands needs stands here.
import type { Command } from 'commander';

/** A command's file exports this: it adds arguments, options and the action. */
export type Configure = (command: Command) => void;

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly configure: Configure }>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'validate',
    summary: 'Check Pipelines and LiveSources in YAML files',
    load: () => import('./validate.ts'),
  },
  {
    name: 'simulate',
    summary: 'Compare serving rules on a workload, on a virtual clock',
    load: () => import('./simulate.ts'),
  },
  {
    name: 'embed-server',
    summary: 'Serve embeddings as OpenAI does, offline',
    load: () => import('../embed-server/index.ts'),
  },
];
