// Program for a test: lists a folder and reads one file as whoever runs it, and prints what happened as JSON.
import { systemClock } from '../../runner/clock.ts';
import { openSource } from '../../runner/sources/index.ts';

const path = process.argv[2] ?? '';
const options = { name: 'docs', clock: systemClock, cacheDir: '/nonexistent', baseDir: '/', secret: async () => '' };
const source = openSource({ directory: { path } }, options);
const signal = new AbortController().signal;
const shown = (error: unknown) =>
  error instanceof Error && 'class' in error ? { class: error.class, message: error.message } : String(error);
const keys: string[] = [];
let listing: unknown;
let reading: unknown;
try {
  for await (const batch of source.list({ signal })) keys.push(...batch.map((item) => item.key));
} catch (error) {
  listing = shown(error);
}
try {
  await source.read('closed.md', '', { signal, maxBytes: 1_000 });
} catch (error) {
  reading = shown(error);
}
await source.close();
process.stdout.write(JSON.stringify({ keys, listing, reading }));
