// Failures of SQLite in words for people: what is wrong with the file, and what to do. SQLite's own words say neither.

/** By primary result code (https://www.sqlite.org/rescode.html). */
const ADVICE: Readonly<Record<number, string>> = {
  8: 'it may only be read: make it and its folder writable for this user',
  10: 'the disk refused to read or write it: look after the disk, then run again',
  11: 'it is damaged: bring a copy back, or delete it to index from the start',
  13: 'the disk is full: make room, then run again; what was committed is kept',
  14: 'is its folder there, and may this user enter and write it?',
};

const PRIMARY_CODE = 0xff;
export const READ_ONLY = 8;
export const CANNOT_OPEN = 14;

/** The primary result code of an error of SQLite; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: string; readonly errcode?: number };
  return code === 'ERR_SQLITE_ERROR' && errcode !== undefined ? errcode & PRIMARY_CODE : undefined;
}

/** What to do about an error of SQLite; undefined where there is nothing to say. */
export function sqliteAdvice(error: unknown): string | undefined {
  const code = sqliteCode(error);
  return code === undefined ? undefined : ADVICE[code];
}
