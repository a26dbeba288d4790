// Commands that work on a Pipeline's state are for the process that has it: they do the work here, have it done by a `fairlead dev --watch`, or ask
// an operator, whose runners do it.
import { filesHere } from '../local/here.ts';
import type { FileOptions } from '../local/options.ts';
import { announcedFor } from './place.ts';
import type { RemoteOptions } from './session.ts';

export type AskedOptions = Omit<FileOptions, 'output'> & RemoteOptions;

/** Whether an operator is to be asked: no files are named, and one is, or one serves in this folder, or there are no files here at all. */
export function asksOperator({ file, dir, server, context, operatorNamespace, namespace }: AskedOptions): boolean {
  if (file !== undefined) return false;
  const named = server ?? process.env.FAIRLEAD_SERVER ?? context ?? operatorNamespace ?? namespace;
  if (named !== undefined) return true;
  if (announcedFor(dir)?.by === 'operator') return true;
  return filesHere({ cwd: process.cwd(), environment: process.env }) === undefined;
}
