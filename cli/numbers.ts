// Numbers on the command line.
import { InvalidArgumentError } from 'commander';

/** A whole number of 0 or more. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is expected');
  return Number(text);
}
