// Rows and records of sources, or of the whole Pipeline, that are being removed: updates like any other (A10).
//   H7. One removal of the same at a time; asked again meanwhile, only the newest who asked is told how it went.
import type { Dispatcher, UpdateEnding } from '../dispatch/index.ts';
import { OWN_UPDATES } from './activity.ts';

export type DropEnded = (ending: UpdateEnding) => void;

export class Drops {
  readonly #dispatcher: Dispatcher;
  /** By source; who is to be told. */
  readonly #wanted = new Map<string, DropEnded>();
  /** Its rows are gone, or it could not be done. */
  readonly #over: (key: string) => void;

  constructor(dispatcher: Dispatcher, over: (key: string) => void) {
    this.#dispatcher = dispatcher;
    this.#over = over;
  }

  get size(): number {
    return this.#wanted.size;
  }

  has(source: string): boolean {
    return this.#wanted.has(source);
  }

  /** `source` undefined: the whole Pipeline. False: it is being removed already. */
  want(source: string | undefined, ended: DropEnded): boolean {
    const key = source ?? OWN_UPDATES;
    const isNew = !this.#wanted.has(key);
    this.#wanted.set(key, ended);
    return isNew;
  }

  /** Nothing else of it goes on any more. */
  start(source: string | undefined): void {
    const key = source ?? OWN_UPDATES;
    if (source !== undefined) this.#dispatcher.openSource({ name: source });
    const ended = (_: unknown, ending: UpdateEnding): void => {
      if (source !== undefined) this.#dispatcher.closeSource(source, 'its rows are gone');
      const tell = this.#wanted.get(key);
      this.#wanted.delete(key);
      this.#over(key);
      tell?.(ending);
    };
    this.#dispatcher.startUpdate({
      kind: 'drop',
      trigger: 'delete',
      ...(source !== undefined && { source }),
      observer: { ended },
    });
  }
}
