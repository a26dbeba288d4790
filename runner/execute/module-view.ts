// What a run of a component that user code mounted calls: the function itself, or, for a view, the scan that mounts one component an entry.
import { type Component, type LiveView, mountEachStream } from '../sdk/index.ts';
import type { Life } from './job.ts';
import type { EachValue } from './live.ts';
import { functionOf } from './module-host.ts';
import type { CompiledModule } from './plan.ts';
import type { UserFunction } from './ports.ts';

interface Body {
  readonly run: UserFunction;
  /** Whether children that it does not mount stay: a feed cannot say what is there. */
  readonly keepsChildren: boolean;
}

export function bodyOf({ module }: CompiledModule, call: string, life: Life | undefined): Body {
  const found = functionOf(module, call);
  if (life?.kind !== 'each') return { run: found, keepsChildren: false };
  const view = found as unknown as LiveView<unknown, unknown>;
  const each = functionOf(module, life.each) as unknown as Component<unknown, unknown>;
  const { memo } = life;
  const run: Component<unknown, unknown> = async (input, context): Promise<EachValue> => {
    if (view.scan === undefined) return { failed: 0 };
    // Entries that fail have been told, and are tried again with the next scan.
    const group = await mountEachStream(each, entriesOf(view.scan(input, context)), { memo });
    return { failed: await group.failed() };
  };
  return { run, keepsChildren: view.scan === undefined };
}

async function* entriesOf<Entry>(entries: AsyncIterable<Entry> | Iterable<Entry>): AsyncGenerator<Entry> {
  yield* entries;
}
