// docs/install.md, as a new user follows it: every command of the page is run, in order, and what the page promises is looked at.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../test/support/eventually.ts';
import { Database } from './support/database.ts';
import { everythingBut } from './support/inventory.ts';
import { commandsOf } from './support/page.ts';
import { Place, usePlace } from './support/place.ts';
import { run } from './support/programs.ts';
import { Release } from './support/release.ts';
import { Repository } from './support/repository.ts';
import { isLiving, WITHIN_MS } from './support/watch.ts';

const place = usePlace('e2e-install');
const search = new Place('search');
const release = new Release('fairlead', {});
let repository: Repository;
let before: ReadonlySet<string>;

/** What is there before and after, and what the page says stays. */
const inventory = () => everythingBut(/fairlead\.dev$/);

beforeAll(async () => {
  repository = await Repository.serve(place);
  await repository.commit('rope', 5);
  before = await inventory();
});
afterAll(async () => {
  await search.remove();
  await release.remove();
});

/** Runs what stands under a heading; what it wrote. */
function follow(heading: string): Promise<string> {
  const commands = commandsOf('install.md').filter((block) => block.heading === heading);
  expect(commands, `the page has commands under ${heading}`).not.toEqual([]);
  const script = ['set -euo pipefail', ...commands.map((block) => block.commands)].join('\n');
  const repositoryUrl = `REPOSITORY=git://git.${place.namespace}.svc/docs`;
  return run('env', [repositoryUrl, 'bash', '-c', script], { withinMs: 2 * WITHIN_MS });
}

test('Image: the page builds and loads what these scenarios run', () => {
  const commands = commandsOf('install.md').filter(({ heading }) => heading === 'Image');
  expect(commands[0]?.commands).toBe('make images');
  expect(commands[1]?.commands).toMatch(/^kind load docker-image fairlead:dev /);
});

test('Install: two operators run, one leads, and helm test passes', async () => {
  const wrote = await follow('Install');
  expect(wrote).toContain('an operator leads');
  expect(wrote).toContain('TLSv1.3');
  expect((await release.operators()).filter(isLiving)).toHaveLength(2);
});

test('First index: the example becomes Synced, and its rows are found; a commit is found too', async () => {
  const wrote = await follow('First index');
  expect(wrote).toMatch(/livesource.fairlead.dev\/repository +True/);
  expect(wrote).toContain('pages/rope-1.md');
  await repository.commit('hawser');
  const database = await Database.reach(search.namespace);
  await database.searchable('hawser', 1, 'code_chunks').finally(() => database.close());
});

test('Remove: nothing is left but the CustomResourceDefinitions', async () => {
  await follow('Remove');
  await eventually(
    async () => [...(await inventory())].filter((object) => !before.has(object)),
    (left) => left.length === 0,
    'nothing is left',
    WITHIN_MS,
  );
  expect(await run('kubectl', ['get', 'crd', '-o', 'name'])).toContain('livesources.fairlead.dev');
});
