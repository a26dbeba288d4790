// The bundle that images and the npm package carry.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle, PROGRAMS } from '../../scripts/bundle.ts';

const ROOT = join(import.meta.dirname, '../..');
// Inside the repository, so that the bundle finds its libraries and package.json.
const OUT = join(ROOT, `dist-test-${process.pid}`);
const work = mkdtempSync(join(tmpdir(), 'fairlead-bundle-'));

beforeAll(() => bundle(OUT, 'image'));
afterAll(() => {
  rmSync(OUT, { recursive: true, force: true });
  rmSync(work, { recursive: true, force: true });
});

test('every program that a worker thread runs is bundled under the name that its caller looks for', () => {
  const sources = execFileSync('git', ['grep', '-hE', 'workerUrl\\(import'], { cwd: ROOT, encoding: 'utf8' });
  const wanted = [...sources.matchAll(/workerUrl\(import\.meta\.url, '[^']+', '([^']+)'\)/g)].map(([, name]) => name);
  expect(wanted.length).toBeGreaterThan(1);
  expect(new Set(Object.keys(PROGRAMS))).toEqual(new Set(['main', ...wanted]));
});

test('the bundle indexes a folder with its worker threads and answers a question, as the sources do', () => {
  mkdirSync(join(work, 'docs'));
  writeFileSync(join(work, 'docs', 'tides.md'), '# Tides\n\nThe harbour floods twice a day.\n');
  const pipeline = readFileSync(join(ROOT, 'examples/documents/documents.yaml'), 'utf8');
  writeFileSync(
    join(work, 'index.yaml'),
    pipeline
      .replace(/path: .*/, 'path: docs')
      .replace('hash: { dimensions: 384 }', 'local: {}')
      .replace('dimensions: 384', 'dimensions: 256'),
  );
  const fairlead = (...args: string[]): string =>
    execFileSync(process.execPath, [join(OUT, 'main.js'), ...args], {
      cwd: work,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  fairlead('dev', '-f', 'index.yaml', '--once');
  expect(fairlead('query', 'harbour floods', '-f', 'index.yaml', '-o', 'json')).toContain('tides.md');
});

test("a user's module gets the bundle's own SDK: what it declares and throws is understood", () => {
  const folder = join(work, 'own-steps');
  cpSync(join(ROOT, 'examples/own-steps'), folder, { recursive: true, filter: (path) => !path.includes('.fairlead') });
  const notes = execFileSync(process.execPath, [join(OUT, 'main.js'), 'dev', '-f', 'own-steps.yaml', '--once'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(notes).toContain('0 unchanged, 2 added, 0 reprocessed, 0 deleted, 0 failed');
});

test('of client-node the operator loads what reads a kubeconfig, and none of the models of the API', () => {
  const [kubeconfig = ''] = readdirSync(OUT).filter((name) => /^kubeconfig-\w+\.js$/.test(name));
  const script = `
    const { KubeConfig } = await import(${JSON.stringify(join(OUT, kubeconfig))});
    const config = new KubeConfig();
    config.loadFromString(process.env.CONFIG);
    const options = {};
    await config.applyToHTTPSOptions(options);
    console.log(config.getCurrentCluster().server, options.headers.Authorization);`;
  const cluster = { name: 'c', cluster: { server: 'https://api.example.com' } };
  const user = { name: 'u', user: { token: 'abc' } };
  const context = { name: 'x', context: { cluster: 'c', user: 'u' } };
  const CONFIG = JSON.stringify({ clusters: [cluster], users: [user], contexts: [context], 'current-context': 'x' });
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { CONFIG },
    encoding: 'utf8',
  });
  expect(said.trim()).toBe('https://api.example.com Bearer abc');
  expect(statSync(join(OUT, kubeconfig)).size).toBeLessThan(100_000);
});
