// How commands that do work here, and wait for it, report: as they go for people and for programs that read lines, or once, at the end.

import type { Reporter } from '../local/report.ts';
import { SILENT } from '../local/report.ts';
import { reporterFor } from '../local/session.ts';
import { type Form, print } from './session.ts';

export interface Report {
  readonly reporter: Reporter;
  /** What came of it, where that was not told already. */
  print(data: object): Promise<void>;
}

export function reportOf(form: Form | undefined): Report {
  if (form === 'yaml') return { reporter: SILENT, print: (data) => print(form, data, () => '') };
  return { reporter: reporterFor(form === 'json' ? 'json' : undefined), print: async () => {} };
}
