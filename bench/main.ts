// `npm run -s bench -- NAME -o json`: runs one benchmark (or all) and prints its figures. Never part of the tests.
import { parseArgs } from 'node:util';
import type { Bench, Report } from './report.ts';

/** Each is loaded only when it is run. */
const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  tree: async () => (await import('./tree.ts')).tree,
  engine: async () => (await import('./engine.ts')).engine,
  stores: async () => (await import('./stores.ts')).stores,
  sources: async () => (await import('./sources.ts')).sources,
  cards: async () => (await import('./cards.ts')).cards,
  runs: async () => (await import('./runs.ts')).runs,
  telemetry: async () => (await import('./telemetry.ts')).telemetry,
  operator: async () => (await import('./operator.ts')).operator,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', short: 'o', default: 'text' } },
});
const names = positionals.length > 0 ? positionals : Object.keys(BENCHES);
for (const name of names) {
  const load = BENCHES[name];
  if (load === undefined) {
    process.stderr.write(`there is no benchmark "${name}"; there are: ${Object.keys(BENCHES).join(', ')}\n`);
    process.exitCode = 2;
    break;
  }
  const bench = await load();
  process.stdout.write(print({ bench: name, results: await bench() }));
}

function print(report: Report): string {
  if (values.output === 'json') return `${JSON.stringify(report)}\n`;
  const lines = report.results.map(({ name, value, unit, baseline }) => {
    const beside = baseline === null ? '' : ` (baseline ${baseline})`;
    return `${report.bench} ${name}: ${value} ${unit}${beside}`;
  });
  return `${lines.join('\n')}\n`;
}
