// `fairlead dev` and the commands around it, as real processes on a folder of files.
import { expect, test, vi } from 'vitest';
import { command } from '../support/command.ts';
import { pipelineText, Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

interface Ended {
  readonly event: string;
  readonly result: string;
  readonly counts: Record<string, number>;
}

/** The last update of an output of JSON lines. */
function lastUpdate(stdout: string): Ended {
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Ended);
  return lines.findLast(({ event }) => event === 'update')!;
}

test('the first run adds everything, a second run does nothing, and a change touches only what changed', async () => {
  const space = new Workspace();
  space.write('files/a.txt', 'The anchor holds in sand.\n');
  space.write('files/b.txt', 'The bilge pump runs dry.\n');
  const first = await space.run('dev', '-f', 'pipeline.yaml', '--once', '-o', 'json');
  expect(first.code).toBe(0);
  expect(lastUpdate(first.stdout)).toMatchObject({ result: 'Succeeded', counts: { added: 2, unchanged: 0 } });

  const second = await space.run('dev', '-f', 'pipeline.yaml', '--once');
  expect(second.stdout).toMatch(/^files: Succeeded in .*: 2 unchanged, 0 added, 0 reprocessed, 0 deleted, 0 failed\n$/);

  space.write('files/b.txt', 'The boom swings wide.\n');
  space.write('files/c.txt', 'The capstan turns slowly.\n');
  space.remove('files/a.txt');
  const third = await space.run('dev', '-f', 'pipeline.yaml', '--once', '-o', 'json');
  expect(lastUpdate(third.stdout).counts).toMatchObject({
    unchanged: 0,
    added: 1,
    reprocessed: 1,
    deleted: 1,
    failed: 0,
  });
  expect(space.rows().map(({ key, text }) => [key, text.trim()])).toEqual([
    ['b.txt', 'The boom swings wide.'],
    ['c.txt', 'The capstan turns slowly.'],
  ]);
});

test('query finds by words and prints path, lines, score and passage; no file need be named where dev ran', async () => {
  const space = new Workspace();
  space.write('files/knots.txt', 'A bowline makes a loop.\n\nA sheet bend joins two ropes of unlike thickness.\n');
  space.write('files/tides.txt', 'Spring tides follow the full moon.\n');
  await space.run('dev', '-f', 'pipeline.yaml');
  const { code, stdout } = await space.run('query', 'joins two ropes', '-k', '1', '-o', 'json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    query: 'joins two ropes',
    results: [{ rank: 1, path: 'knots.txt', lines: { start: 1, end: 3 }, source: 'files', pipeline: 'notes' }],
  });
  // -f takes one path and leaves what follows to the command.
  const text = await space.run('query', '-k', '1', '-f', 'pipeline.yaml', 'full moon');
  expect(text.stdout).toMatch(/^1\. tides\.txt:1-1 {2}score 0\.\d{4}\n {3}Spring tides follow the full moon\.\n$/);
});

test('what a query says of nothing found is no data', async () => {
  const space = new Workspace({ steps: 'split: {by: text}' });
  space.write('files/empty.txt', '');
  await space.run('dev', '-f', 'pipeline.yaml');
  expect(await space.run('query', 'anchor')).toEqual({ code: 0, stdout: '', stderr: 'nothing found\n' });
});

test('query before anything was indexed says what to do', async () => {
  const { code, stderr } = await new Workspace().run('query', 'anything', '-f', 'pipeline.yaml');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'Pipeline notes: nothing was indexed yet; run fairlead dev first\n',
  });
});

test('a question without words is refused', async () => {
  expect(await new Workspace().run('query', ' ', '-f', 'pipeline.yaml')).toMatchObject({ code: 64, stdout: '' });
});

test('a Pipeline that nothing feeds is told apart from one that has nothing to do', async () => {
  const space = new Workspace();
  space.write('pipeline.yaml', pipelineText().split('---')[0]!);
  const { code, stderr } = await space.run('dev', '-f', 'pipeline.yaml');
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Pipeline notes: no live source feeds it\n' });
});

test('a command without -f in a folder where nothing ran says so and exits with 64', async () => {
  const { code, stderr } = await new Workspace().run('query', 'anything');
  expect(code).toBe(64);
  expect(stderr).toContain('fairlead init');
});

test('a variable that is no bound of rows or bytes stops dev before anything is opened, by its name', async () => {
  const space = new Workspace();
  space.environment.FAIRLEAD_SOURCE_MAX_INFLIGHT_BYTES = 'plenty';
  const refused = await space.run('dev', '-f', 'pipeline.yaml');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(
    'FAIRLEAD_SOURCE_MAX_INFLIGHT_BYTES must be a quantity from 1Ki to 1Pi, not "plenty"',
  );
});

test('a folder that the system will not make is refused by its name', async () => {
  const space = new Workspace();
  const inProc = (target: string) =>
    pipelineText().replace('sqlite: {table: chunks, vector: {dimensions: 64}}', target);
  for (const target of [
    'jsonl: {path: /proc/fairlead/rows.jsonl}',
    'sqlite: {table: chunks, path: /proc/fairlead/rows.db}',
  ]) {
    space.write('pipeline.yaml', inProc(target));
    const { code, stderr } = await space.run('dev', '-f', 'pipeline.yaml');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('/proc/fairlead cannot be made: ') });
  }
});

test('a misspelt field stops dev before anything is opened, with file, line, object, field and the nearest name', async () => {
  const space = new Workspace({ steps: 'split: {by: text, chunksize: 200}' });
  const { code, stderr } = await space.run('dev', '-f', 'pipeline.yaml');
  expect(code).toBe(1);
  expect(stderr).toContain('pipeline.yaml:');
  expect(stderr).toMatch(
    /Pipeline .*notes.*spec\.component\.steps\[1\]\.split\.chunksize: unknown field; did you mean chunkSize\?/,
  );
});

test('an update in which an item failed ends CompletedWithErrors with exit code 3, names the item, and keeps the others', async () => {
  const space = new Workspace();
  space.write('pipeline.yaml', pipelineText().replace('read: {}', 'read: {maxBytes: 1Ki}'));
  space.write('files/small.txt', 'A small boat.\n');
  space.write('files/large.txt', 'A large ship. '.repeat(200));
  const { code, stdout, stderr } = await space.run('dev', '-f', 'pipeline.yaml');
  expect(code).toBe(3);
  expect(stdout).toMatch(/^files: CompletedWithErrors in .*1 added, .* 1 failed/);
  expect(stderr).toMatch(/files: large\.txt: read: /);
  expect(space.keys()).toEqual(['small.txt']);
  const { stdout: listed } = await space.run('quarantine', '-o', 'json');
  expect(JSON.parse(listed)).toMatchObject({ items: [{ key: 'large.txt', status: 'failed', failures: 1 }] });
});

test('an item is told once though its components fail with it, and what is not printed is counted in items', async () => {
  const space = new Workspace();
  const failing = 'forEach: {steps: [{exec: {command: [no-such-program]}}, {export: {target: index}}]}';
  space.write(
    'pipeline.yaml',
    pipelineText({ steps: `split: {by: text, chunkSize: 64, overlap: 0}\n      - ${failing}` }),
  );
  const text = 'Each of these lines is a chunk of its own, or nearly so.\n'.repeat(3);
  for (let at = 0; at < 23; at++) space.write(`files/${at}.txt`, text);
  const { code, stdout, stderr } = await space.run('dev', '-f', 'pipeline.yaml', '-o', 'json');
  const events = stdout.split('\n').filter((line) => line.includes('"event":"failed"'));
  const keys = events.map((line) => (JSON.parse(line) as { key: string }).key);
  expect([code, keys.length, new Set(keys).size]).toEqual([3, 20, 20]);
  expect(`${stdout}${stderr}`).toContain('3 more items failed');
});

test('standard input without a Pipeline is called by that name', async () => {
  const { code, stderr } = await command(['dev', '-f', '-'], { input: '\n' });
  expect([code, stderr]).toEqual([1, 'there is no Pipeline in standard input\n']);
});

test('a cycle that would delete more than the guard allows deletes nothing until there is consent', async () => {
  const space = new Workspace({ source: 'deleteGuard: {maxPercent: 50, minItems: 2}' });
  for (const name of ['a', 'b', 'c', 'd']) space.write(`files/${name}.txt`, `The letter ${name}.\n`);
  await space.run('dev', '-f', 'pipeline.yaml');
  for (const name of ['a', 'b', 'c']) space.remove(`files/${name}.txt`);
  const held = await space.run('dev', '-f', 'pipeline.yaml');
  expect(held.code).toBe(3);
  expect(held.stdout).toContain('nothing was deleted: 3 of 4 items are not in the source any more');
  expect(space.keys()).toHaveLength(4);
  const consented = await space.run('dev', '-f', 'pipeline.yaml', '--allow-deletes', '-o', 'json');
  expect(lastUpdate(consented.stdout).counts.deleted).toBe(3);
  expect(space.keys()).toEqual(['d.txt']);
});

test('an edit of the spec that changes results processes every item again; one that does not processes none', async () => {
  const space = new Workspace();
  space.write('files/a.txt', 'The anchor.\n');
  await space.run('dev', '-f', 'pipeline.yaml');
  space.write('pipeline.yaml', pipelineText({ pipeline: 'maxInflightComponents: 3' }));
  const same = await space.run('dev', '-f', 'pipeline.yaml', '-o', 'json');
  expect(lastUpdate(same.stdout).counts).toMatchObject({ unchanged: 1, reprocessed: 0 });
  space.write('pipeline.yaml', pipelineText({ steps: 'split: {by: text, chunkSize: 100, overlap: 0}' }));
  const other = await space.run('dev', '-f', 'pipeline.yaml', '-o', 'json');
  expect(lastUpdate(other.stdout).counts).toMatchObject({ unchanged: 0, reprocessed: 1 });
});

test('reprocess writes every row anew and leaves the same rows', async () => {
  const space = new Workspace();
  space.write('files/a.txt', 'The anchor.\n');
  space.write('files/b.txt', 'The bilge.\n');
  await space.run('dev', '-f', 'pipeline.yaml');
  const before = space.rows();
  const { code, stdout } = await space.run('reprocess', '-o', 'json');
  expect(code).toBe(0);
  expect(lastUpdate(stdout)).toMatchObject({ result: 'Succeeded', counts: { reprocessed: 2 } });
  expect(space.rows()).toEqual(before);
});

test('refresh of a live source that does not exist names those that do', async () => {
  const { code, stderr } = await new Workspace().run('refresh', 'folders', '-f', 'pipeline.yaml');
  expect({ code, stderr }).toEqual({ code: 64, stderr: 'no live source is named folders; there are files\n' });
});
