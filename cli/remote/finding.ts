// What a check of `fairlead doctor` found.
export interface Finding {
  readonly check: string;
  /** `warn`: it works, and somebody should look. */
  readonly verdict: 'ok' | 'warn' | 'bad';
  readonly says: string;
}
