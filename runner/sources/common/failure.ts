// Errors of the file system and of listings, in words for people.
import { StepError } from '../../sdk/index.ts';

/** Code such as `ENOENT` of an error of Node, else undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The path is not there (any more). */
export const isGone = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'the system does not permit it',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of the path is not a folder',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the path is too long',
  EMFILE: 'this process has too many files open',
  ENFILE: 'the system has too many files open',
  EIO: 'the disk could not be read',
  ESTALE: 'the network volume lost it',
};

/** Reason of a failed file system call, without the path. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return code === undefined ? messageOf(error) : (REASONS[code] ?? code);
}

/** Shows a path or key so that no character of it can break a line or hide. */
export const show = (text: string): string => JSON.stringify(text);

/** What a listing could not see. Gathers places so that the message stays short whatever their number. */
export class ListingGaps {
  static readonly #SHOWN_MAX = 5;
  readonly #shown: string[] = [];
  #count = 0;

  add(place: string, error: unknown): void {
    this.#count++;
    if (this.#shown.length < ListingGaps.#SHOWN_MAX) this.#shown.push(`${show(place)} (${reasonOf(error)})`);
  }

  get count(): number {
    return this.#count;
  }

  /** The error that ends a listing with gaps, so that nothing is deleted by mistake (F1); undefined without gaps. */
  error(what: string): StepError | undefined {
    if (this.#count === 0) return undefined;
    const more = this.#count > this.#shown.length ? ` and ${this.#count - this.#shown.length} more` : '';
    return new StepError(
      'transient',
      `${what} could not be listed whole: ${this.#shown.join(', ')}${more}; make them readable or exclude them (nothing is deleted meanwhile)`,
    );
  }
}
