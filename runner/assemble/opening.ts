// Why a Pipeline could not be opened, in the words of the documented reasons. A runner that ends for it begins its last line with the reason;
// the kubelet keeps that line, and the operator shows it as the reason of a condition.
import { toRunError } from '../execute/index.ts';

/** What was being opened. */
export type Part = 'state' | 'target';

export type OpeningReason = 'StateHeld' | 'StateUnreachable' | 'TargetRefused' | 'TargetUnreachable';

/** Of Postgres: who may log in, whether the database is there, what may be done in it. */
const REFUSED_SQL = /^(28...|3D000|42501)$/;

/** Undefined: none of the documented reasons says it. */
export function openingReason(error: unknown, part: Part | undefined): OpeningReason | undefined {
  const { name, code } = (error instanceof Error ? error : {}) as { readonly name?: string; readonly code?: unknown };
  if (name === 'TargetRefused') return 'TargetRefused';
  if (name === 'StateInUseError') return 'StateHeld';
  if (part === undefined) return undefined;
  if (part === 'target' && typeof code === 'string' && REFUSED_SQL.test(code)) return 'TargetRefused';
  if (part === 'target') return toRunError(error).class === 'transient' ? 'TargetUnreachable' : undefined;
  return 'StateUnreachable';
}
