// Rules about the repository itself, checked on every file that git tracks or would add.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';

const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { encoding: 'utf8' })
  .split('\0')
  .filter((name) => name !== '' && existsSync(name) && statSync(name).isFile());
const isBinary = (text: string) => text.includes('\0');
const files = names.map((name) => ({ name, text: readFileSync(name, 'utf8') })).filter(({ text }) => !isBinary(text));

/** Places of a pattern, as `file:line`. */
function places(pattern: RegExp, among = files): string[] {
  return among.flatMap(({ name, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${name}:${index + 1}: ${line.trim()}`] : [])),
  );
}

test('no file names a directory of the machine that it was written on', () => {
  expect(places(/(^|[\s"'`(=:])\/(work|root|Users|home\/\w+)\//)).toEqual([]);
});

test('the lockfile and .npmrc name no registry: every clone uses its own', () => {
  const among = files.filter(({ name }) => name === 'package-lock.json' || name === '.npmrc');
  expect(places(/"resolved"|^registry|_authToken/, among)).toEqual([]);
});

test('every dependency is pinned to one version', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
  const wanted = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
    Object.entries(manifest[kind] ?? {}),
  );
  expect(wanted.filter(([, version]) => !/^\d+\.\d+\.\d+/.test(version))).toEqual([]);
});

test('no test is left out by hand, or left to run alone', () => {
  const among = files.filter(({ name }) => name.endsWith('.test.ts'));
  expect(places(/\b(test|it|describe|suite)\.(only|skip|todo|fails)\(/, among)).toEqual([]);
});

test('no check is silenced for a whole file', () => {
  const among = files.filter(({ name }) => name.endsWith('.ts') && name !== 'test/repository/tidy.test.ts');
  expect(places(/@ts-nocheck|@ts-ignore|biome-ignore-all/, among)).toEqual([]);
});

/** Markdown without what stands in code, where brackets are no links. */
const prose = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');

test('relative links in the documents lead to files that exist', () => {
  const broken = files
    .filter(({ name }) => name.endsWith('.md'))
    .flatMap(({ name, text }) =>
      [...prose(text).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)].map((match) => ({
        name,
        to: match[1]!,
      })),
    )
    .filter(({ name, to }) => !existsSync(new URL(to, new URL(name, `file://${process.cwd()}/`))));
  expect(broken).toEqual([]);
});
