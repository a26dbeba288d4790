// `fairlead doctor`: looks at an installation and says what is wrong with it.
import type { Command } from 'commander';
import { CommandError } from '../exit.ts';
import { kubeConfig } from '../remote/cluster.ts';
import { examine } from '../remote/doctor.ts';
import { addRemote, print, type RemoteOptions } from '../remote/session.ts';
import { columns } from '../remote/text.ts';

const MARKS = { ok: 'ok', warn: 'look', bad: 'BAD' } as const;

export function configure(command: Command): void {
  command.description(
    'Check an installation in a cluster: API server and clocks, resource definitions, your rights, the operator, and every object with what keeps it from being ready: sources, targets, state, runner pods. Ends with 1 where something is bad.',
  );
  addRemote(command).action(run);
}

async function run(options: RemoteOptions): Promise<void> {
  const config = await kubeConfig(options.context);
  if (config === undefined) throw new CommandError('there is no kubeconfig: set KUBECONFIG, or name a --context');
  const findings = await examine(config, options.namespace);
  print(options.output, { findings }, () =>
    columns(
      ['', 'CHECK', 'FINDING'],
      findings.map(({ check, verdict, says }) => [MARKS[verdict], check, says]),
    ),
  );
  const bad = findings.filter(({ verdict }) => verdict === 'bad').length;
  if (bad > 0) throw new CommandError(`${bad} of ${findings.length} checks found something bad`);
}
