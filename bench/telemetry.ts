// What metrics and traces cost: CPU and wall time of the engine's empty components, and of empty runs through an operator and two runner processes,
// by mode of telemetry (telemetry/modes.ts). Empty work has nothing that the cost could hide behind.
//   Each mode has a process of its own, and all of them work by turns, a slice each, beginning with another one in each round: what drifts on a
//   machine that others use drifts for all alike. What counts of a set is the median of the ratio to `off` and `control` in the same round; a
//   figure is the mean over several sets of processes, since the compiler does not make the same of the same code each time. `control` is `off`
//   again: how far it lies from `off` is chance, and so is as much of every other figure.
//   `tenth` is what a sampler that takes one update in ten makes of `unsampled` and `traces`.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from './node-flags.ts';
import { type Bench, type Result, result } from './report.ts';
import { KINDS, type Kind, MODES, type Mode } from './telemetry/modes.ts';
import type { Answer } from './telemetry/subject.ts';
import { told } from './told.ts';

const SETS = 3;
const WARM_UP_ROUNDS = 3;
const ROUNDS_MAX = 5;
const ROUNDS_MIN = 2;
/** No further round of a set begins after this: a busy machine gives fewer of them, not a longer wait. */
const SET_MS = 25_000;
const TENTH = 0.1;
/** In one slice. */
const PIECES: Readonly<Record<Kind, number>> = { engine: 20_000, runs: 50_000 };
const PIECE: Readonly<Record<Kind, string>> = { engine: 'component', runs: 'run' };
const SUBJECT = fileURLToPath(new URL('telemetry/subject.ts', import.meta.url));

const DISCARD =
  "const s = require('node:http').createServer((q, a) => q.resume().on('end', () => a.end('{}'))).listen(0, '127.0.0.1', () => console.log(s.address().port))";

type Round = Readonly<Record<Mode, Answer>>;

async function started(kind: Kind, mode: Mode, endpoint: string): Promise<ChildProcess> {
  const sampler = mode === 'unsampled' ? { OTEL_TRACES_SAMPLER: 'parentbased_always_off' } : {};
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...sampler };
  const child = fork(SUBJECT, [kind, mode], { env, execArgv: nodeFlags() });
  await once(child, 'message');
  return child;
}

async function sliceOf(subject: ChildProcess): Promise<Answer> {
  subject.send('work');
  const [answer] = (await once(subject, 'message')) as [Answer];
  return answer;
}

/** A slice of each mode; another mode is the first in each round. */
async function roundOf(subjects: ReadonlyMap<Mode, ChildProcess>, number: number): Promise<Round> {
  const answers: Partial<Record<Mode, Answer>> = {};
  const first = number % MODES.length;
  for (const mode of [...MODES.slice(first), ...MODES.slice(0, first)])
    answers[mode] = await sliceOf(subjects.get(mode)!);
  return answers as Round;
}

/** Rounds of one set of processes. The CPU time of a slice is told with the next one. */
async function roundsOf(kind: Kind, endpoint: string): Promise<Round[]> {
  const subjects = new Map<Mode, ChildProcess>();
  try {
    for (const mode of MODES) subjects.set(mode, await started(kind, mode, endpoint));
    const rounds: Round[] = [];
    const beganMs = performance.now();
    const isDue = (): boolean =>
      rounds.length <= WARM_UP_ROUNDS + ROUNDS_MIN ||
      (rounds.length <= WARM_UP_ROUNDS + ROUNDS_MAX && performance.now() - beganMs < SET_MS);
    while (isDue()) rounds.push(await roundOf(subjects, rounds.length));
    return rounds.slice(WARM_UP_ROUNDS, -1).map((round, at) => withCpu(round, rounds[WARM_UP_ROUNDS + at + 1]!));
  } finally {
    for (const subject of subjects.values()) subject.disconnect();
  }
}

function withCpu(round: Round, next: Round): Round {
  const of = (mode: Mode): Answer => ({ wallMs: round[mode].wallMs, cpuMs: next[mode].cpuMs });
  return Object.fromEntries(MODES.map((mode) => [mode, of(mode)])) as unknown as Round;
}

/** `sets`: the rounds of each. */
function figures(kind: Kind, sets: readonly (readonly Round[])[]): Result[] {
  const overhead = (mode: Mode, time: keyof Answer): number =>
    mean(sets.map((rounds) => median(rounds.map((round) => (round[mode][time] / plain(round, mode, time) - 1) * 100))));
  const micros = (mode: Mode): number =>
    (mean(sets.map((rounds) => median(rounds.map((round) => round[mode].cpuMs)))) * 1_000) / PIECES[kind];
  const tenth = TENTH * overhead('traces', 'cpuMs') + (1 - TENTH) * overhead('unsampled', 'cpuMs');
  return [
    ...MODES.filter((mode) => mode !== 'off').flatMap((mode) => [
      result(`${kind}-${mode}-overhead`, overhead(mode, 'cpuMs'), '% of CPU time'),
      result(`${kind}-${mode}-wall-overhead`, overhead(mode, 'wallMs'), '% of wall time'),
      result(`${kind}-${mode}-us`, micros(mode), `us of CPU per ${PIECE[kind]}`, micros('off')),
    ]),
    result(`${kind}-tenth-overhead`, tenth, '% of CPU time'),
  ];
}

/** What a mode is compared with. */
function plain({ off, control }: Round, mode: Mode, time: keyof Answer): number {
  return mode === 'control' ? off[time] : (off[time] + control[time]) / 2;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

export const telemetry: Bench = async () => {
  // A receiver of its own process, so that its work is not counted.
  const receiver = spawn(process.execPath, ['-e', DISCARD], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = (await once(receiver.stdout, 'data')) as [Buffer];
    const endpoint = `http://127.0.0.1:${`${port}`.trim()}`;
    const results: Result[] = [];
    for (const kind of KINDS) {
      const sets: Round[][] = [];
      for (let set = 1; set <= SETS; set++)
        sets.push(await told(`${kind}, set ${set} of ${SETS}`, roundsOf(kind, endpoint)));
      results.push(...figures(kind, sets));
    }
    return results;
  } finally {
    receiver.kill();
  }
};
