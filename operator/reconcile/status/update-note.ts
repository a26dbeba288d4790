// The event that an update leaves on its LiveSource or Pipeline: when it failed, and when its source is well again. Repeats join a series
// (operator/cluster/events.ts), so a source that fails for a day is a few events.
import { TRACE_ANNOTATIONS } from '../../../crds/schema/index.ts';
import type { EndedUpdate, UpdateRecord } from '../../host/index.ts';
import type { EventNote } from '../ports.ts';

type Told = Pick<EventNote, 'type' | 'reason' | 'note'>;

/** Undefined: nothing that people must hear of. */
export function updateNote({ record, wasFailing }: EndedUpdate): EventNote | undefined {
  const told = toldOf(record, wasFailing);
  if (told === undefined) return undefined;
  const { name, traceId } = record;
  const annotations = {
    [TRACE_ANNOTATIONS.update]: name,
    ...(traceId !== undefined && { [TRACE_ANNOTATIONS.traceId]: traceId }),
  };
  const where = traceId === undefined ? '' : ` Trace ${traceId}: fairlead trace ${name}`;
  return { ...told, note: `${told.note}${where}`, action: 'Update', annotations };
}

function toldOf({ name, result, counts, message, kind, trigger }: UpdateRecord, wasFailing: boolean): Told | undefined {
  const update = `Update ${name} (${kind}, by ${trigger})`;
  if (result === 'Failed')
    return { type: 'Warning', reason: 'UpdateFailed', note: `${update} failed: ${short(message)}.` };
  if (result === 'CompletedWithErrors' && counts.failed === 0)
    return { type: 'Warning', reason: 'DeletesHeld', note: `${update} ended: ${short(message)}` };
  if (result === 'CompletedWithErrors')
    return { type: 'Warning', reason: 'ItemsFailed', note: `${update} ended; items that failed: ${counts.failed}.` };
  if (result === 'Succeeded' && wasFailing)
    return { type: 'Normal', reason: 'UpdateSucceeded', note: `${update} succeeded, after one that did not.` };
  return undefined;
}

/** An event may say a thousand characters, and the trace comes last. */
const MESSAGE_MAX = 600;

function short(message = 'no reason was given'): string {
  const text = message.replace(/\.$/, '');
  return text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX)}…`;
}
