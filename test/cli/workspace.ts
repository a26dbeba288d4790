// A scratch folder with a Pipeline over a folder of files, and `fairlead` run in it as real processes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type CommandResult, command, type RunningCommand, startCommand } from '../support/command.ts';

const LOOK_EVERY_MS = 25;

export interface PipelineText {
  /** Steps after `read`. */
  readonly steps?: string;
  readonly mode?: string;
  readonly pipeline?: string;
  readonly source?: string;
  /** Beside the index. */
  readonly targets?: string;
}

/** YAML of a Pipeline named `notes` and its live source `files` over `files/`. */
export function pipelineText(options: PipelineText = {}): string {
  const {
    steps = 'split: {by: text, chunkSize: 200, overlap: 20}',
    mode = 'interval: 1h',
    pipeline = '',
    source = '',
    targets = '',
  } = options;
  return `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: notes}
spec:
  ${pipeline}
  component:
    steps:
      - read: {}
      - ${steps}
      - embed: {hash: {dimensions: 64}}
      - export: {target: index}
  targets:
    - name: index
      sqlite: {table: chunks, vector: {dimensions: 64}}
    ${targets}
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: files}
spec:
  pipelineRef: {name: notes}
  source: {directory: {path: files}}
  ${mode}
  ${source}
`;
}

export interface Row {
  readonly key: string;
  readonly text: string;
  readonly start_line: number;
  readonly end_line: number;
}

export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-cli-'));
  /** Added to the environment of its processes. */
  readonly environment: Record<string, string> = { XDG_STATE_HOME: join(this.folder, 'home') };

  constructor(options: PipelineText = {}) {
    this.write('pipeline.yaml', pipelineText(options));
    mkdirSync(join(this.folder, 'files'));
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  remove(path: string): void {
    rmSync(join(this.folder, path));
  }

  run(...args: string[]): Promise<CommandResult> {
    return command(args, { cwd: this.folder, env: this.environment });
  }

  start(...args: string[]): RunningCommand {
    return startCommand(args, { cwd: this.folder, env: this.environment });
  }

  /** Rows of the target, in a fixed order, read past everything that Fairlead offers. */
  rows(): Row[] {
    const database = new DatabaseSync(join(this.folder, '.fairlead', 'notes.db'), { readOnly: true });
    try {
      const sql = 'SELECT key, text, start_line, end_line FROM chunks ORDER BY key, start_byte, text';
      return database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }) as unknown as Row);
    } finally {
      database.close();
    }
  }

  keys(): string[] {
    return [...new Set(this.rows().map(({ key }) => key))];
  }
}

/** Files with several chunks each, every text unlike any other. */
export function manyFiles(count: number, lines = 12): ReadonlyMap<string, string> {
  const text = (file: number) =>
    Array.from(
      { length: lines },
      (_, line) => `Note ${file}, line ${line}: the rope number ${file * 100 + line} runs free.\n`,
    );
  return new Map(
    Array.from({ length: count }, (_, at) => [`note-${String(at).padStart(4, '0')}.txt`, text(at).join('')]),
  );
}

/** Until a process in the middle of its work has done more than so many items, or is at its end. It needs the processor more than we do. */
export async function untilMoreThan(items: number, done: () => Promise<number>, ended: Promise<unknown>) {
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver && (await done()) <= items) await wait(LOOK_EVERY_MS);
}
