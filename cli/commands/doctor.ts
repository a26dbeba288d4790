// `fairlead doctor`: looks at an installation and says what is wrong with it.
import type { Command } from 'commander';
import { CommandError } from '../exit.ts';
import { print } from '../output.ts';
import { ApiClient } from '../remote/client.ts';
import { forward, kubeConfig } from '../remote/cluster.ts';
import { examine } from '../remote/doctor.ts';
import { examineOverview } from '../remote/doctor-overview.ts';
import type { Finding } from '../remote/finding.ts';
import { addRemote, NOTHING_SERVES, namedPlace, type RemoteOptions } from '../remote/session.ts';
import { columns } from '../remote/text.ts';

const MARKS = { ok: 'ok', warn: 'look', bad: 'BAD' } as const;

export function configure(command: Command): void {
  command.description(
    'Check an installation: the operator, its clock, its runners, and every source with what is wrong with it, targets and state included; in a cluster also API server, resource definitions, your rights, those of the operator, the gateway and every object. Ends with 1 where something is bad.',
  );
  addRemote(command).action(run);
}

async function run(options: RemoteOptions): Promise<void> {
  const place = namedPlace(options);
  const findings = place === undefined ? await ofCluster(options) : await examineOverview(new ApiClient(place));
  await print(options.output, { findings }, () =>
    columns(
      ['', 'CHECK', 'FINDING'],
      findings.map(({ check, verdict, says }) => [MARKS[verdict], check, says]),
    ),
  );
  const bad = findings.filter(({ verdict }) => verdict === 'bad').length;
  if (bad > 0) throw new CommandError(`${bad} of ${findings.length} checks found something bad`);
}

/** What the API server shows, then what the leader says of itself. */
async function ofCluster(options: RemoteOptions): Promise<Finding[]> {
  const config = await kubeConfig(options.context);
  if (config === undefined) throw new CommandError(NOTHING_SERVES);
  const findings = await examine(config, options.namespace);
  if (findings.some(({ check, verdict }) => check === 'operator' && verdict === 'bad')) return findings;
  try {
    const forwarded = await forward(config, options);
    const own = await examineOverview(new ApiClient(forwarded)).finally(() => forwarded.close());
    return [...findings, ...own];
  } catch (error) {
    return [...findings, { check: 'operator API', verdict: 'bad', says: (error as Error).message }];
  }
}
