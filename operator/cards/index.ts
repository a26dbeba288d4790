export { type Answer, CardLedger, type LedgerOptions, PASSES_MAX } from './ledger.ts';
export * from './types.ts';
