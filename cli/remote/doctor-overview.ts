// What an operator that answers shows of its own health: itself and its clock, the runners behind its gateway, cards, and each source with what is
// wrong with it. The same for a cluster, a standalone operator and `fairlead dev --watch`.
import type { Overview, PipelineView, SourceView } from '../../operator/api/index.ts';
import { programVersion } from '../version.ts';
import type { ApiClient } from './client.ts';
import { SKEW_MAX_MS } from './doctor.ts';
import type { Finding } from './finding.ts';

/** Throws a CommandError where the operator does not answer. */
export async function examineOverview(client: ApiClient): Promise<Finding[]> {
  const { about } = await client.get<{ about: string }>('/api/v1');
  const askedMs = Date.now();
  const { atMs, pipelines } = await client.get<Overview>('/api/v1/overview');
  const skewMs = Math.abs(atMs - (askedMs + Date.now()) / 2);
  return [aboutFinding(client, about), clockFinding(skewMs), ...pipelines.flatMap(pipelineFindings)];
}

function aboutFinding({ place }: ApiClient, about: string): Finding {
  const check = 'operator API';
  const says = `${about} answers on ${place.url}`;
  if (about.endsWith(` ${programVersion()}`)) return { check, verdict: 'ok', says };
  return { check, verdict: 'warn', says: `${says}, but this command is version ${programVersion()}: use the same one` };
}

function clockFinding(skewMs: number): Finding {
  const check = 'clock of the operator';
  if (skewMs <= SKEW_MAX_MS) return { check, verdict: 'ok', says: 'agrees with the one here' };
  return { check, verdict: 'bad', says: `${Math.round(skewMs / 1000)} s away from the one here: set both by NTP` };
}

function pipelineFindings(pipeline: PipelineView): Finding[] {
  const sources = pipeline.sources.flatMap((source) => sourceFindings(pipeline.name, source));
  const ready = pipeline.sources.length - new Set(sources.map(({ check }) => check)).size;
  return [
    gatewayFinding(pipeline),
    ...cardFindings(pipeline),
    {
      check: `sources of ${pipeline.name}`,
      verdict: 'ok',
      says: `${ready} of ${pipeline.sources.length} have nothing to complain of`,
    },
    ...sources,
  ];
}

function gatewayFinding({ name, runners, tree, isSuspended }: PipelineView): Finding {
  const check = `runners of ${name}`;
  const silent = runners.filter(({ phase }) => phase === 'silent').map((runner) => runner.name);
  if (silent.length > 0)
    return { check, verdict: 'bad', says: `${silent.join(', ')} do not answer: look at their logs and at the network` };
  if (runners.length > 0) return { check, verdict: 'ok', says: `${runners.length} connected` };
  if (tree.pool.waiting === 0 || isSuspended)
    return { check, verdict: 'ok', says: 'none connected, and nothing waits for one' };
  return {
    check,
    verdict: 'bad',
    says: `none connected while ${tree.pool.waiting} runs wait: start one with fairlead runner; in a cluster look at the pods`,
  };
}

function cardFindings({ name, cards }: PipelineView): Finding[] {
  if (cards.waiting === 0 || cards.total > 0) return [];
  const says = `${cards.waiting} calls wait for a card and no runner has one`;
  return [{ check: `cards of ${name}`, verdict: 'bad', says }];
}

function sourceFindings(pipeline: string, { name, trouble, items, isSuspended }: SourceView): Finding[] {
  const check = `source ${pipeline} ${name}`;
  const found: Finding[] = [];
  if (trouble !== undefined) found.push({ check, verdict: 'bad', says: `${trouble.reason}: ${trouble.message}` });
  if (items.failed + items.quarantined > 0) {
    const says = `${items.failed} items failed, ${items.quarantined} are quarantined: fairlead quarantine lists them`;
    found.push({ check, verdict: 'warn', says });
  }
  if (isSuspended) found.push({ check, verdict: 'warn', says: 'is suspended: fairlead resume goes on' });
  return found;
}
