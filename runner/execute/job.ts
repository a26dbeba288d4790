// What a run is to do: the kind of its order with the input that runs of this kind are passed. The engine that mounts a run writes the input, the one
// that executes it reads it, and what goes between them is JSON, perhaps from a runner of another version: so it is looked at before it is believed.
import { itemPath, type Json, type Question, type RunOrder } from '../protocol/index.ts';
import { StepError } from '../sdk/index.ts';

/** An element of a `forEach`. */
export type ElementInput = {
  /** Index of the component in the compiled plan. */
  readonly component: number;
  readonly element: Json;
};

/** Why a component goes on after its first run (module-live.ts). */
export type Life =
  | { readonly kind: 'refresh'; readonly everyMs: number }
  | { readonly kind: 'live' }
  | { readonly kind: 'each'; readonly each: string; readonly memo: boolean; readonly rescanMs?: number };

/** A component that user code mounted. */
export type ModuleInput = {
  /** Index of the step in the compiled plan. */
  readonly module: number;
  /** Exported function. */
  readonly call: string;
  readonly input: Json;
  readonly life?: Life;
};

/** The component that lives on. */
export type LiveInput = ModuleInput & {
  readonly life: Life;
  /** Its first run was committed a moment ago: nothing can have been missed that only time brings. */
  readonly isCaughtUp: boolean;
};

/** An item that goes because its whole source does: no work list, and its vectors are not kept. */
export type DropInput = { readonly drop: true };

export type Job =
  | { readonly kind: 'question'; readonly question: Question }
  | { readonly kind: 'pipeline' | 'watch' }
  /** `deletedBefore`: items that per-key updates deleted since the last whole listing; its guard counts them too. */
  | { readonly kind: 'cycle'; readonly deletedBefore: number }
  /** A component with all below it, or all of a source; `isWhole`: with the source that it is of. */
  | { readonly kind: 'drop'; readonly isWhole: boolean }
  /** `seenAtMs`: when a watcher or a push saw the change that the update is about. */
  | { readonly kind: 'item'; readonly seenAtMs?: number }
  | { readonly kind: 'element'; readonly input: ElementInput }
  | { readonly kind: 'module'; readonly input: ModuleInput }
  | { readonly kind: 'live'; readonly input: LiveInput };

/** Throws StepError where the input is none for a run of that kind. */
export function jobOf(order: RunOrder): Job {
  const { kind, input } = order;
  switch (kind) {
    case 'cycle':
      return { kind, deletedBefore: numberIn(input, 'deletedBefore') ?? 0 };
    case 'item':
      return { kind, ...seenAt(input) };
    case 'delete':
      return isDropInput(input) || !isItem(order) ? { kind: 'drop', isWhole: isDropInput(input) } : { kind: 'item' };
    case 'pipeline':
      return isQuestion(input) ? { kind: 'question', question: input } : { kind };
    case 'element':
      return { kind, input: checked(order, input, isElementInput) };
    case 'module':
      return { kind, input: checked(order, input, isModuleInput) };
    case 'watch':
      return input === undefined ? { kind } : { kind: 'live', input: checked(order, input, isLiveInput) };
    default:
      return { kind };
  }
}

/** Whether it is of an item that the work list names, and not of a component of one or of a whole source. */
const isItem = ({ source, key, path }: RunOrder): boolean =>
  source !== undefined && key !== undefined && path === itemPath(source, key);

const isDropInput = (input: Json | undefined): input is DropInput => isObject(input) && input.drop === true;

function seenAt(input: Json | undefined): { readonly seenAtMs?: number } {
  const seenAtMs = numberIn(input, 'seenAtMs');
  return seenAtMs === undefined ? {} : { seenAtMs };
}

function numberIn(input: Json | undefined, field: string): number | undefined {
  const value = isObject(input) ? input[field] : undefined;
  return typeof value === 'number' ? value : undefined;
}

function checked<Input>(
  { kind, path }: RunOrder,
  input: Json | undefined,
  is: (input: Json | undefined) => input is Json & Input,
): Input {
  if (is(input)) return input;
  throw new StepError(
    'transient',
    `a run of kind ${kind} for ${path} came with an input that this version does not know`,
  );
}

const isObject = (input: Json | undefined): input is { readonly [field: string]: Json } =>
  typeof input === 'object' && input !== null && !Array.isArray(input);

const isQuestion = (input: Json | undefined): input is Json & Question => isObject(input) && isKnown(input);

function isKnown({ ask, after }: { readonly [field: string]: Json }): boolean {
  if (ask === 'verify' || ask === 'repair') return true;
  return ask === 'troubled' && isObject(after) && isTroubled(after.status) && typeof after.id === 'number';
}

const isTroubled = (status: Json | undefined): boolean => status === 'quarantined' || status === 'failed';

const isElementInput = (input: Json | undefined): input is ElementInput =>
  isObject(input) && typeof input.component === 'number' && isObject(input.element);

const isModuleInput = (input: Json | undefined): input is ModuleInput =>
  isObject(input) && typeof input.module === 'number' && typeof input.call === 'string' && input.input !== undefined;

const isLiveInput = (input: Json | undefined): input is LiveInput =>
  isModuleInput(input) && input.life !== undefined && 'isCaughtUp' in input;
