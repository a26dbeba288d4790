// How an update begins: the mount that its root run is, and what is known of one from an order of an earlier operator.
import {
  type ComponentPath,
  childPath,
  itemPath,
  type MountRequest,
  type RunOrder,
} from '../../runner/protocol/index.ts';
import type { UpdateStart } from './update.ts';

const ROOT_KINDS = { pipeline: 'pipeline', cycle: 'cycle', key: 'item', drop: 'delete' } as const;

/** What the root run of an update is asked for with. */
export function rootRequest(start: UpdateStart): MountRequest {
  const { source, key, input, reprocess, runnerClass } = start;
  return {
    mount: 0,
    path: pathOf(start),
    kind: ROOT_KINDS[start.kind],
    ...(source === undefined ? {} : { source }),
    ...(key === undefined ? {} : { key }),
    ...(input === undefined ? {} : { input }),
    ...(reprocess === undefined ? {} : { reprocess }),
    ...(runnerClass === undefined ? {} : { runnerClass }),
  };
}

/** The update that a live source makes which a component mounted. */
export function mountedStart({ source, key }: MountRequest): UpdateStart {
  return {
    kind: key === undefined ? 'cycle' : 'key',
    trigger: 'live',
    ...(source === undefined ? {} : { source }),
    ...(key === undefined ? {} : { key }),
  };
}

/** What is known of an update from one of its runs. */
export function startOf({ kind, source, key, trigger, updateOf, parentRun, traceparent }: RunOrder): UpdateStart {
  const ofKey = kind === 'item' && parentRun === undefined && key !== undefined ? { key } : {};
  const isDrop = kind === 'delete' && parentRun === undefined;
  return {
    kind: isDrop ? 'drop' : updateOf === undefined ? 'pipeline' : 'key' in ofKey ? 'key' : 'cycle',
    trigger: trigger ?? 'unknown',
    ...(source === undefined || updateOf === undefined ? {} : { source }),
    ...ofKey,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

function pathOf({ source, key }: UpdateStart): ComponentPath {
  if (source === undefined) return '';
  return key === undefined ? childPath('', source) : itemPath(source, key);
}
