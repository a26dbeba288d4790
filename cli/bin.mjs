#!/usr/bin/env -S node --max-semi-space-size=16
// What `npx fairlead` starts. Plain JavaScript, so that it also starts on an older Node: there it hands over to the Node that the lockfile
// brought. It keeps compiled code between calls (in the folder for temporary files), which halves the start. Half of V8's default for young
// objects (the image sets it too) costs no speed and keeps a first index of any size a third smaller (docs/benchmarks.md).
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MIN = 24;

/** The Node of the lockfile, for this platform; undefined: there is none. */
function ownNode() {
  const { platform, arch } = process;
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${platform}-${arch}/package.json`);
    return join(dirname(manifest), 'bin', 'node');
  } catch {
    return undefined;
  }
}

if (Number(process.versions.node.split('.')[0]) >= NODE_MIN) {
  module.enableCompileCache();
  await import('./main.ts');
} else {
  const node = ownNode();
  const self = fileURLToPath(import.meta.url);
  if (node === undefined) {
    process.stderr.write(`Fairlead needs Node ${NODE_MIN} or newer; this is ${process.version}\n`);
    process.exit(1);
  }
  const child = spawn(node, [...process.execArgv, self, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; this one waits for the other to finish what it runs.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
}
