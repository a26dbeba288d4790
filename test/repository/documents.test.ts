// Commands in the documents are commands that exist, with options that exist.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createProgram } from '../../cli/program.ts';

const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/how-to/*.md')];
const program = await createProgram(() => true);

/** Calls of `fairlead` in code, as lists of words. */
function callsIn(file: string): string[][] {
  const calls = readFileSync(file, 'utf8').matchAll(/(?:^|`)(?:npx )?fairlead ([a-z][^\n`#]*)/gm);
  return [...calls].map((match) => match[1]!.match(/"[^"]*"|\S+/g) ?? []);
}

/** What is wrong with a call; undefined: nothing. */
function problemOf([name, ...words]: string[]): string | undefined {
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) return `there is no command ${name}`;
  const known = new Set(command.options.flatMap(({ short, long }) => [short, long]));
  const unknown = words.find((word) => /^--?[a-z]/.test(word) && !known.has(word) && word !== '--help');
  return unknown && `${name} has no option ${unknown}`;
}

test.each(documents)('%s calls only commands and options that exist', (file) => {
  const wrong = callsIn(file).flatMap((call) => {
    const problem = problemOf(call);
    return problem === undefined ? [] : [`fairlead ${call.join(' ')}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

test('the README names every way in that a new user needs', () => {
  const named = callsIn('README.md').map(([name]) => name);
  for (const name of ['init', 'dev', 'query', 'simulate']) expect(named).toContain(name);
});
