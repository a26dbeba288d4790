// `fairlead suspend`: a Pipeline or a live source stops starting new work.
import type { Command } from 'commander';
import { act, forEach } from '../remote/act.ts';
import { addRemote, type RemoteOptions } from '../remote/session.ts';

export function configure(command: Command): void {
  command
    .description('Start nothing new for a Pipeline, or for one of its live sources; what runs goes on to its end.')
    .argument('[source...]', 'LiveSources; absent: the whole Pipeline');
  addRemote(command).action((sources: readonly string[], options: RemoteOptions) =>
    act(forEach(sources, { action: 'suspend' }), options),
  );
}
