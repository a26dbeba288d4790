// `fairlead resume`: a Pipeline or a live source goes on.
import type { Command } from 'commander';
import { act, forEach } from '../remote/act.ts';
import { addRemote, type RemoteOptions } from '../remote/session.ts';

export function configure(command: Command): void {
  command
    .description('Go on with a Pipeline, or with one of its live sources, that was suspended.')
    .argument('[source...]', 'LiveSources; absent: the whole Pipeline');
  addRemote(command).action((sources: readonly string[], options: RemoteOptions) =>
    act(forEach(sources, { action: 'resume' }), options),
  );
}
