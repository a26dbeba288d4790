// Where an operator is, on the command line.
import { InvalidArgumentError } from 'commander';
import { collect } from './collect.ts';

/** Adds an operator's address to those before it. Throws InvalidArgumentError unless it is https: a token goes to nobody who has not shown a certificate. */
export function operatorAddress(text: string, before?: readonly string[]): readonly string[] {
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:')
    throw new InvalidArgumentError('https://HOST:PORT is expected: operators and runners talk over TLS only');
  return collect(text, before);
}
