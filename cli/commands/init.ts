// `fairlead init`: writes a commented Pipeline for a folder.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { CommandError } from '../exit.ts';

interface Options {
  readonly file: string;
  readonly force?: boolean;
}

export function configure(command: Command): void {
  command
    .description('Write a commented Pipeline that indexes a folder.')
    .argument('[folder]', 'folder to index; the file is written into it', '.')
    .option('-f, --file <name>', 'name of the file', 'fairlead.yaml')
    .option('--force', 'replace the file if it is there')
    .action(run);
}

/** A name that Kubernetes takes, from a folder's name. */
export function objectName(folder: string): string {
  const plain = folder.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return plain.slice(0, 40).replaceAll(/^-+|-+$/g, '') || 'index';
}

/** As YAML reads it back as this text: a folder named 2026 is no number. */
const yamlText = (text: string): string => stringify(text, { version: '1.1' }).trimEnd();

/** As a shell reads it back as one word. */
const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The text of a file that indexes `folder`. The file itself and the state beside it are not to be indexed. */
export function starterPipeline(folder: string, file: string): string {
  const name = yamlText(objectName(basename(resolve(folder))));
  const from = dirname(resolve(file));
  const path = yamlText(relative(from, resolve(folder)) || '.');
  const own = [resolve(file), `${join(from, '.fairlead')}/**`]
    .map((one) => relative(resolve(folder), one))
    .filter((one) => !one.startsWith('..'));
  const exclude = [...own, '.git/**', '**/node_modules/**', '**/*.lock'].map((glob) => JSON.stringify(glob)).join(', ');
  const ignored = existsSync(join(folder, '.git'))
    ? 'true              # files that git ignores are left out'
    : 'false';
  const called = shellWord(basename(file));
  return `# An index of ${path === '.' ? 'this folder' : path}. Made by \`fairlead init\`; docs/reference/objects.md has every field.
#   fairlead dev -f ${called}              bring the index up to date
#   fairlead dev -f ${called} --watch      and keep it so
#   fairlead query -f ${called} "where is the retry policy?"
apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata:
  name: ${name}
spec:
  # maxInflightComponents: 1024       # how many files are worked on at once
  component:                          # what is done with each file
    steps:
      - read: {maxBytes: 2Mi, onTooLarge: Skip}
      - split: {by: code, chunkSize: 1200, overlap: 200}   # by: text or markdown for prose
      - embed: {hash: {dimensions: 384}}   # words, offline; openai: {url: …, model: …} for a model of yours
      - export: {target: index}
  targets:
    - name: index
      sqlite: {table: chunks, vector: {dimensions: 384}}
---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata:
  name: files
spec:
  pipelineRef: {name: ${name}}
  source:
    directory:
      path: ${path}
      gitignore: ${ignored}
      exclude: [${exclude}]
  mode: Watch                         # an update for each changed file; Refresh with interval: looks at times
  deleteGuard: {maxPercent: 50, minItems: 20}   # a cycle that would delete more stops and asks
`;
}

function run(folder: string, { file: name, force }: Options): void {
  if (name === '-') throw new CommandError('init writes a file: give its name with -f', 'usage');
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new CommandError(`${folder} is no folder`);
  const file = isAbsolute(name) ? name : join(folder, name);
  if (existsSync(file) && force !== true)
    throw new CommandError(`${file} is there already: give another name with -f, or --force to replace it`);
  writeFileSync(file, starterPipeline(folder, file));
  process.stderr.write(`wrote ${file}; next: fairlead dev -f ${shellWord(file)}\n`);
}
