// What a process that runs user code prints, without the secrets that it read: user code and libraries print, too, and print what they were given.
import { inspect } from 'node:util';
import type { Hide } from '../runner/secrets.ts';

/** Takes secrets out of everything that this process writes to its standard output and error, its last words included; the answer ends that. */
export function guardOutput({ stdout, stderr }: NodeJS.Process, hide: Hide): () => void {
  const ends = [guard(stdout, hide), guard(stderr, hide)];
  const onFault = (thrown: unknown): void => {
    stderr.write(`${inspect(thrown)}\n`);
    process.exit(1);
  };
  process.once('uncaughtException', onFault);
  return () => {
    process.off('uncaughtException', onFault);
    for (const end of ends) end();
  };
}

function guard(stream: NodeJS.WriteStream, hide: Hide): () => void {
  const plain = stream.write;
  const write = stream.write.bind(stream) as (chunk: string, ...rest: unknown[]) => boolean;
  const guarded = (chunk: string | Uint8Array, ...rest: unknown[]): boolean =>
    write(hide(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')), ...rest);
  stream.write = guarded as typeof stream.write;
  return () => {
    stream.write = plain;
  };
}
