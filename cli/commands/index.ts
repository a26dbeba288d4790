// The commands of `fairlead`. A command's file is loaded only when it is called, so that `fairlead --help` starts fast;
// what the list of commands needs stands here.
import type { Command } from 'commander';

/** A command's file exports this: it adds arguments, options and the action. `whole` is the program with all that every command has. */
export type Configure = (command: Command, whole: () => Promise<Command>) => void;

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly configure: Configure }>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    summary: 'Write a commented Pipeline for a folder',
    load: () => import('./init.ts'),
  },
  {
    name: 'validate',
    summary: 'Check Pipelines and LiveSources in YAML files',
    load: () => import('./validate.ts'),
  },
  {
    name: 'dev',
    summary: 'Run Pipelines on this machine, in one process',
    load: () => import('./dev.ts'),
  },
  {
    name: 'query',
    summary: 'Search what was indexed',
    load: () => import('./query.ts'),
  },
  {
    name: 'plan',
    summary: 'Show what would change, per item',
    load: () => import('./plan.ts'),
  },
  {
    name: 'refresh',
    summary: 'List live sources now and process what changed',
    load: () => import('./refresh.ts'),
  },
  {
    name: 'reprocess',
    summary: 'Process every known item again',
    load: () => import('./reprocess.ts'),
  },
  {
    name: 'quarantine',
    summary: 'List items that are left alone or failed, and release them',
    load: () => import('./quarantine.ts'),
  },
  {
    name: 'verify',
    summary: 'Compare the state with the targets, both ways',
    load: () => import('./verify.ts'),
  },
  {
    name: 'status',
    summary: 'Show how fresh each source is, and what is wrong',
    load: () => import('./status.ts'),
  },
  {
    name: 'top',
    summary: 'Show the live tree: slots, waiting, rate, freshness',
    load: () => import('./top.ts'),
  },
  {
    name: 'why',
    summary: 'Tell what an update, an item or a run waits for',
    load: () => import('./why.ts'),
  },
  {
    name: 'updates',
    summary: 'List updates, or show one',
    load: () => import('./updates.ts'),
  },
  {
    name: 'trace',
    summary: 'Print the spans of an update',
    load: () => import('./trace.ts'),
  },
  {
    name: 'suspend',
    summary: 'Start nothing new for a Pipeline or a live source',
    load: () => import('./suspend.ts'),
  },
  {
    name: 'resume',
    summary: 'Go on with what was suspended',
    load: () => import('./resume.ts'),
  },
  {
    name: 'doctor',
    summary: 'Check an installation and say what is wrong with it',
    load: () => import('./doctor.ts'),
  },
  {
    name: 'completion',
    summary: 'Print a completion script for a shell',
    load: () => import('./completion.ts'),
  },
  {
    name: 'operator',
    summary: 'Admit runs and bring them to runners',
    load: () => import('./operator.ts'),
  },
  {
    name: 'runner',
    summary: 'Execute runs for an operator',
    load: () => import('./runner.ts'),
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
