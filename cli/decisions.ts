// Writes decision logs into a folder, one file for each Pipeline.
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../operator/clock.ts';
import type { Followed, Follower } from '../operator/dispatch/index.ts';
import { DecisionLog } from '../operator/telemetry/index.ts';
import { makeFolder } from '../runner/folders.ts';

/** What one Pipeline may write: about a million decisions. */
const MAX_BYTES = 64 << 20;

export const DECISIONS_FLAG = '--decision-log <folder>';
export const DECISIONS_MEANING =
  'write what asked for slots and what got them into a file for each Pipeline, for `fairlead simulate --replay`; 64 MiB each at the most';

type Follow = (pipeline: string) => Follower;

/** The same followers, and a log beside them. */
export function withDecisions(folder: string | undefined, clock: Clock, follow: Follow): Follow {
  if (folder === undefined) return follow;
  makeFolder(folder);
  return (pipeline) => {
    const follower = follow(pipeline);
    const file = createWriteStream(join(folder, `${pipeline.replace('/', '.')}.jsonl`), { mode: 0o600 });
    file.on('error', () => file.destroy()); // a disk that is full ends the log, not the operator
    let followed: Followed | undefined;
    const log = new DecisionLog({
      clock,
      pipeline,
      slots: () => followed?.specs.slotsMax ?? 0,
      maxBytes: MAX_BYTES,
      write: (text) => void (file.destroyed || file.write(text)),
    });
    return {
      events: [...follower.events, log],
      traceparentOf: (update) => follower.traceparentOf(update),
      attach: (attached) => {
        followed = attached;
        follower.attach(attached);
      },
    };
  };
}
