import { StepError } from '../../sdk/index.ts';
import { show } from './failure.ts';

/** Refusal of an item above the bound of `read`. */
export function tooLarge(key: string, sizeBytes: number, maxBytes: number): StepError {
  return new StepError(
    'too-large',
    `${show(key)} is too large: ${sizeBytes} bytes, and at most ${maxBytes} are read; exclude it or raise the bound`,
  );
}
