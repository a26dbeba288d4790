// Whose rows a target holds. It records the Pipeline and the state that write to it, so that
//   O1. a target of another Pipeline is refused by name;
//   O2. rows of a state of the same Pipeline that was lost are adopted: they stay searchable, each component's rows go when it writes its own,
//       and what no component claims goes with `sweep`.

/** Raised for people: a target that cannot be used as it is declared, and what to do about it. */
export class TargetRefused extends Error {
  constructor(target: string, why: string) {
    super(`target ${target}: ${why}`);
    this.name = 'TargetRefused';
  }
}

export interface RowsOf {
  readonly pipeline: string;
  /** Empty where the target lives in the state's own store. */
  readonly stateId: string;
}

export class Adoption {
  readonly isNeeded: boolean;

  /** Throws `TargetRefused` when the rows are another Pipeline's. */
  constructor(target: string, where: string, found: RowsOf, wanted: RowsOf) {
    if (found.pipeline !== wanted.pipeline)
      throw new TargetRefused(
        target,
        `${where} holds the rows of Pipeline ${found.pipeline}, and Pipeline ${wanted.pipeline} would mix its own with them: name another table`,
      );
    this.isNeeded = found.stateId !== wanted.stateId;
  }
}
