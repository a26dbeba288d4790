// The worker's end of the pool: executes tasks one after another, in the order in which they came.
import { parentPort, type Transferable } from 'node:worker_threads';
import { StepError } from '../../sdk/index.ts';
import type { TaskOrder, TaskReply } from './messages.ts';

/** What a task gives back. `transfer` moves buffers instead of copying; `retire` asks for a fresh thread after this task. */
export interface TaskResult {
  readonly value: unknown;
  readonly transfer?: readonly Transferable[];
  readonly retire?: boolean;
}

export type Task = (input: never) => TaskResult | Promise<TaskResult>;

/** Tasks by name; each is loaded when it is first asked for. */
export type Tasks = { readonly [name: string]: () => Promise<Task> };

/** Takes tasks from the parent thread until it ends this one. */
export function serve(tasks: Tasks): void {
  const port = parentPort;
  if (port === null) throw new Error('this file is the start of a worker thread and cannot be run by itself');
  const reply = (message: TaskReply, transfer: readonly Transferable[] = []) => port.postMessage(message, transfer);
  const loaded = new Map<string, Task>();

  async function load(name: string): Promise<Task> {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const loader = tasks[name];
    if (loader === undefined) throw new StepError('internal', `worker threads know no task "${name}"`);
    const task = await loader();
    loaded.set(name, task);
    return task;
  }

  async function execute(order: TaskOrder): Promise<void> {
    try {
      const task = await load(order.task);
      const result = await task(order.input as never);
      reply({ kind: 'done', id: order.id, value: result.value, retire: result.retire ?? false }, result.transfer);
    } catch (error) {
      const failure = error instanceof StepError ? error.class : 'internal';
      reply({ kind: 'failed', id: order.id, class: failure, message: messageOf(error) });
    }
  }

  let last = Promise.resolve();
  port.on('message', (order: TaskOrder) => {
    last = last.then(() => execute(order));
  });
  reply({ kind: 'ready' });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
