// What a runner's process prints, without the secrets that it read: user code and libraries print, too, and print what they were given.
import { inspect } from 'node:util';
import type { Hide } from '../runner/secrets.ts';

/** Takes secrets out of everything that this process writes to its standard output and error from now on, its last words included. */
export function guardOutput({ stdout, stderr }: NodeJS.Process, hide: Hide): void {
  guard(stdout, hide);
  guard(stderr, hide);
  process.once('uncaughtException', (thrown) => {
    stderr.write(`${inspect(thrown)}\n`);
    process.exit(1);
  });
}

function guard(stream: NodeJS.WriteStream, hide: Hide): void {
  const write = stream.write.bind(stream) as (chunk: string, ...rest: unknown[]) => boolean;
  const guarded = (chunk: string | Uint8Array, ...rest: unknown[]): boolean =>
    write(hide(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')), ...rest);
  stream.write = guarded as typeof stream.write;
}
