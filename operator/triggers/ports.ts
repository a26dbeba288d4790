// What triggers need from whoever runs updates; the dispatcher fits.
import type { Cause, UpdateStart, UpdateView } from '../dispatch/index.ts';

export interface UpdateDoor {
  /** Opens an update; what becomes of it comes through `UpdateStart.observer`. */
  startUpdate(start: UpdateStart): UpdateView;
  cancelUpdate(name: string, why: string): void;
  /** Something more wants what an open update will do anyway. */
  joinUpdate?(name: string, cause: Cause): void;
}
