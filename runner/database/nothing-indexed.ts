/** Raised where something is only looked at and was never made: a state, a table, a file. Whoever looks may take it for empty. */
export class NothingIndexed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NothingIndexed';
  }
}
