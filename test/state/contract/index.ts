// What every state store promises, as one suite: SQLite and Postgres both pass it.
import { beforeEach, describe } from 'vitest';
import { censusClaims } from './census.ts';
import { commitClaims } from './commits.ts';
import { comparingClaims } from './comparing.ts';
import { epochClaims } from './epochs.ts';
import { historyClaims } from './history.ts';
import { memoClaims } from './memo.ts';
import { outsideClaims } from './outside.ts';
import { runClaims } from './runs.ts';
import { type StatePlace, Subject } from './subject.ts';
import { workListClaims } from './work-list.ts';

export type { StatePlace } from './subject.ts';

export function stateContract(name: string, makePlace: () => Promise<StatePlace>): void {
  describe(`F23, ${name}: the contract of a state`, () => {
    const subject = new Subject();

    beforeEach(async () => {
      await subject.begin(await makePlace());
      return async () => subject.state.close();
    });

    for (const claim of [
      comparingClaims,
      censusClaims,
      runClaims,
      commitClaims,
      epochClaims,
      outsideClaims,
      workListClaims,
      memoClaims,
      historyClaims,
    ])
      claim(subject);
  });
}
