// What metrics and traces cost: CPU time of the engine's empty components, and of empty runs through an operator and two runner processes, with
// nothing, with metrics alone, and with metrics and every update traced and exported. Empty work has nothing that the cost could hide behind.
//   Each round is a process of its own, and rounds go there and back (off, metrics, traces, traces, metrics, off): what drifts on a machine
//   that others use drifts for all alike. A figure is the median of the rounds' ratios to the `off` of the same turn.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Bench, type Result, result } from './report.ts';
import { type Kind, MODES, type Mode } from './telemetry/modes.ts';

/** About three and a half minutes on two quiet cores. */
const TURNS: Readonly<Record<Kind, number>> = { engine: 4, runs: 2 };
const ROUND = fileURLToPath(new URL('telemetry/round.ts', import.meta.url));

const DISCARD =
  "const s = require('node:http').createServer((q, a) => q.resume().on('end', () => a.end('{}'))).listen(0, '127.0.0.1', () => console.log(s.address().port))";

async function round(kind: Kind, mode: Mode, endpoint: string): Promise<number> {
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
  const child = spawn(process.execPath, [ROUND, kind, mode], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`a round of ${kind} with ${mode} ended with ${code}`);
  return Number(said);
}

type Turn = Readonly<Record<Mode, number>>;

/** Each mode twice, there and back. */
async function turn(kind: Kind, endpoint: string): Promise<Turn> {
  const sums: Record<Mode, number> = { off: 0, metrics: 0, traces: 0 };
  for (const mode of [...MODES, ...MODES.toReversed()]) sums[mode] += (await round(kind, mode, endpoint)) / 2;
  return sums;
}

async function measured(kind: Kind, unit: string, endpoint: string): Promise<Result[]> {
  const turns: Turn[] = [];
  for (let at = 0; at < TURNS[kind]; at++) turns.push(await turn(kind, endpoint));
  const off = median(turns.map((one) => one.off));
  return (['metrics', 'traces'] as const).flatMap((mode) => {
    const micros = median(turns.map((one) => one[mode]));
    const percent = median(turns.map((one) => (one[mode] / one.off - 1) * 100));
    return [result(`${kind}-${mode}-us`, micros, unit, off), result(`${kind}-${mode}-overhead`, percent, '%')];
  });
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

export const telemetry: Bench = async () => {
  // A receiver of its own process, so that its work is not counted.
  const receiver = spawn(process.execPath, ['-e', DISCARD], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = (await once(receiver.stdout, 'data')) as [Buffer];
    const endpoint = `http://127.0.0.1:${`${port}`.trim()}`;
    return [
      ...(await measured('engine', 'us of CPU per component', endpoint)),
      ...(await measured('runs', 'us of CPU per run', endpoint)),
    ];
  } finally {
    receiver.kill();
  }
};
