// Checks who imports whom: `node scripts/imports.ts`. The table below is the one of docs/decisions/0002-import-directions.md.
//   I1. A room imports only the rooms that its rule names, and its own files.
//   I2. Another room is entered by its door, `index.ts`.
//   I3. A library with a home is imported only there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

interface Rule {
  /** Rooms that may be imported. */
  readonly rooms: readonly string[];
  /** Rooms of which only types may be imported: nothing of them runs. */
  readonly types?: readonly string[];
  /** No library and no part of Node either. */
  readonly pure?: boolean;
}

const WIRING = ['operator', 'runner', 'crds', 'cli'];
const RUNNER_PORTS = [
  'runner/execute',
  'runner/sdk',
  'runner/protocol',
  'runner/worker-url.ts',
  'runner/clock.ts',
  'runner/folders.ts',
  'runner/gpus.ts',
  'runner/pid.ts',
  'runner/secrets.ts',
];
const OPERATOR_PORTS = ['operator/dispatch', 'operator/reconcile', 'operator/clock.ts', 'operator/settings.ts'];

/** The longest prefix that fits a file is its room. */
export const RULES: Readonly<Record<string, Rule>> = {
  'operator/admission': { rooms: [], pure: true },
  'operator/inspection': { rooms: ['operator/admission'], pure: true },
  'runner/sdk': { rooms: [] },
  'crds/schema': { rooms: [] },
  'crds/emit': { rooms: ['crds/schema'] },
  'runner/protocol': { rooms: [] },
  'operator/cards': { rooms: ['operator/admission'], pure: true },
  'operator/blueprint': { rooms: ['crds/schema'] },
  'operator/dispatch': {
    rooms: ['operator/admission', 'operator/inspection', 'operator/cards', 'runner/protocol', 'operator/clock.ts'],
    types: ['crds/schema'],
  },
  'operator/triggers': {
    rooms: ['operator/admission', 'operator/dispatch', 'runner/protocol', 'operator/clock.ts'],
    types: ['crds/schema'],
  },
  'operator/host': {
    rooms: [
      'operator/admission',
      'operator/inspection',
      'operator/dispatch',
      'operator/triggers',
      'runner/protocol',
      'crds/schema',
      'operator/clock.ts',
    ],
  },
  'operator/reconcile': {
    rooms: [
      'operator/cards',
      'operator/host',
      'operator/blueprint',
      'operator/admission',
      'operator/dispatch',
      'operator/triggers',
      'runner/protocol',
      'crds/schema',
      'operator/clock.ts',
    ],
  },
  'operator/cluster': { rooms: [...OPERATOR_PORTS, 'crds/schema', 'operator/blueprint'] },
  'operator/gateway': { rooms: [...OPERATOR_PORTS, 'runner/protocol'], types: ['crds/schema'] },
  'operator/standalone': {
    rooms: [...OPERATOR_PORTS, 'operator/host', 'operator/gateway', 'runner/protocol', 'runner/pid.ts'],
    types: ['crds/schema'],
  },
  'operator/telemetry': { rooms: [...OPERATOR_PORTS, 'runner/protocol', 'operator/log.ts'] },
  'operator/api': { rooms: [...OPERATOR_PORTS, 'operator/inspection', 'operator/host'] },
  'operator/dashboard': { rooms: [...OPERATOR_PORTS, 'operator/api'], types: ['operator/telemetry'] },
  'operator/clock.ts': { rooms: ['runner/clock.ts'] },
  'operator/log.ts': { rooms: [], pure: true },
  'operator/settings.ts': { rooms: ['crds/schema', 'operator/api'] },
  'operator/service': { rooms: WIRING },
  'operator/main.ts': { rooms: ['operator', 'crds', 'runner/protocol'] },
  'runner/execute': {
    rooms: ['runner/protocol', 'runner/sdk', 'runner/clock.ts', 'runner/secrets.ts'],
    types: ['crds/schema'],
  },
  'runner/session': { rooms: RUNNER_PORTS },
  'runner/database': { rooms: ['runner/sdk'] },
  'runner/state': { rooms: [...RUNNER_PORTS, 'runner/database'], types: ['crds/schema'] },
  'runner/sources': { rooms: RUNNER_PORTS, types: ['crds/schema'] },
  'runner/steps': { rooms: [...RUNNER_PORTS, 'crds/schema'] },
  'runner/targets': { rooms: [...RUNNER_PORTS, 'runner/database'], types: ['crds/schema'] },
  'runner/assemble': { rooms: ['runner', 'crds/schema'] },
  'runner/telemetry': { rooms: RUNNER_PORTS },
  'runner/clock.ts': { rooms: [] },
  'runner/gpus.ts': { rooms: [] },
  'runner/folders.ts': { rooms: [] },
  'runner/pid.ts': { rooms: [] },
  'runner/secrets.ts': { rooms: [] },
  'runner/worker-url.ts': { rooms: [] },
  'runner/main.ts': { rooms: ['runner', 'crds'] },
  cli: { rooms: WIRING },
};

/** Libraries that have a home: a name or the start of it, and the rooms that may import it. */
export const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@kubernetes/client-node': ['operator/cluster', 'operator/blueprint', 'cli'],
  '@opentelemetry/': ['operator/telemetry', 'runner/telemetry'],
  '@connectrpc/': ['operator/gateway', 'runner/session', 'runner/protocol', 'cli'],
  '@bufbuild/': ['operator/gateway', 'operator/host', 'operator/standalone', 'runner/session', 'runner/protocol'],
  esbuild: ['operator/dashboard'],
  commander: ['cli'],
  pg: ['runner/database', 'runner/state', 'runner/targets', 'runner/sources'],
  'node:sqlite': ['runner/database', 'runner/state'],
  'sqlite-vec': ['runner/database'],
};

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[\w*{][^;'"]*?\sfrom\s+)?'([^']+)'/gm;
const CALL = /\bimport\(\s*'([^']+)'\s*\)/g;

/** Import statements, re-exports and `import()` of a file that Biome formatted. */
export function importsOf(text: string): Import[] {
  const found: Import[] = [];
  const lineAt = (index: number) => text.slice(0, index).split('\n').length;
  for (const match of text.matchAll(STATEMENT))
    found.push({ specifier: match[2]!, typeOnly: match[1] !== undefined, line: lineAt(match.index) });
  for (const match of text.matchAll(CALL))
    found.push({ specifier: match[1]!, typeOnly: false, line: lineAt(match.index) });
  return found;
}

const isIn = (path: string, room: string) => path === room || path.startsWith(`${room}/`);

/** The room of a file; undefined for files that no rule names. */
export function roomOf(path: string): string | undefined {
  return Object.keys(RULES)
    .filter((room) => isIn(path, room))
    .sort((a, b) => b.length - a.length)[0];
}

function wrongArrow(from: string, room: string, it: Import): string | undefined {
  const rule = RULES[room]!;
  if (!it.specifier.startsWith('.')) return wrongLibrary(room, rule, it);
  const to = normalize(join(dirname(from), it.specifier));
  if (isIn(to, room)) return undefined;
  const allowed = it.typeOnly ? [...rule.rooms, ...(rule.types ?? [])] : rule.rooms;
  if (!allowed.some((other) => isIn(to, other)))
    return `${room} must not import ${to}; it may import ${allowed.length ? allowed.join(', ') : 'nothing but itself'} (I1)`;
  const target = roomOf(to);
  const isDoor = to === target || to.endsWith('/index.ts');
  return isDoor ? undefined : `${to} is not the door of ${target ?? 'its room'}: import its index.ts (I2)`;
}

function wrongLibrary(room: string, rule: Rule, it: Import): string | undefined {
  if (rule.pure) return `${room} is pure and must not import ${it.specifier} (I1)`;
  for (const [library, homes] of Object.entries(HOMES)) {
    const fits = library.endsWith('/') ? it.specifier.startsWith(library) : it.specifier === library;
    if (fits && !homes.some((home) => isIn(room, home)))
      return `${room} must not import ${it.specifier}; its home is ${homes.join(', ')} (I3)`;
  }
  return undefined;
}

/** Wrong arrows of one file, as `file:line: message`. */
export function check(path: string, text: string): string[] {
  const room = roomOf(path);
  if (room === undefined) return [`${path}:1: belongs to no room: give it a rule in scripts/imports.ts`];
  return importsOf(text).flatMap((it) => {
    const message = wrongArrow(path, room, it);
    return message === undefined ? [] : [`${path}:${it.line}: ${message}`];
  });
}

function sources(): string[] {
  return WIRING.filter((top) => existsSync(top))
    .flatMap((top) =>
      readdirSync(top, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(top, name)),
    )
    .sort();
}

if (import.meta.main) {
  const files = sources();
  const wrong = files.flatMap((path) => check(path, readFileSync(path, 'utf8')));
  for (const line of wrong) process.stderr.write(`${line}\n`);
  process.stdout.write(`imports: ${files.length} files, ${wrong.length} wrong arrows\n`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}
