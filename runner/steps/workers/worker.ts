// Start of a worker thread: the CPU-heavy tasks of the steps by name.
import { serve } from './serve.ts';

serve({
  split: async () => (await import('../split/task.ts')).splitTask,
  hash: async () => (await import('../embed/hash-task.ts')).hashTask,
  local: async () => (await import('../embed/local-task.ts')).localTask,
});
