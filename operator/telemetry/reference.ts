// The reference page of metrics, from their definitions.
import { definitionOf, METRICS, type MetricName } from './definitions.ts';

export function metricsReference(): string {
  const names = Object.keys(METRICS) as MetricName[];
  const rows = names.map((name) => {
    const { kind, labels, help } = definitionOf(name);
    return `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help.replaceAll('|', '\\|')} |`;
  });
  return `<!-- Written by \`make generate\` from operator/telemetry/definitions.ts. Do not edit. -->

# Metrics

The operator serves these at \`/metrics\`. Labels are bounded: they never name an item, a run or an update. A metric has at most
2,000 series; what comes beyond is counted under \`other\`.

| metric | kind | labels | meaning |
| ------ | ---- | ------ | ------- |
${rows.join('\n')}
`;
}
