// Questions to a Pipeline's runners about its state and targets (runner/protocol/questions.ts), for people who wait for the answer.
//   N1. Bounded: what only looks OPEN_MAX at a time; each holds a slot while it is answered, as all work does.
//   N2. Whoever asked may go away: what was only to be looked at ends, what was to be mended goes on.
import type { Json, Question, RunOutcome } from '../../runner/protocol/index.ts';
import type { UpdateEnding, UpdateStart } from '../dispatch/index.ts';

export { FIRST_TROUBLED, type Question, type TroubledPlace } from '../../runner/protocol/index.ts';

const OPEN_MAX = 4;

export type Answer =
  | { readonly kind: 'answered'; readonly value: Json }
  /** `why` is for people. */
  | { readonly kind: 'refused'; readonly why: string };

export interface Asked {
  readonly answer: Promise<Answer>;
  /** Whoever asked does not wait any more (N2). */
  withdraw(): void;
}

/** What questions need of the host. */
export interface QuestionDoor {
  /** Why none can be answered now, for people. */
  refusal(): string | undefined;
  /** Opens an update; answers its name. */
  start(start: UpdateStart, ended: (ending: UpdateEnding) => void): string;
  cancel(update: string, why: string): void;
}

export class Questions {
  readonly #door: QuestionDoor;
  #open = 0;

  constructor(door: QuestionDoor) {
    this.#door = door;
  }

  ask(question: Question): Asked {
    const isFull = this.#open >= OPEN_MAX && question.ask !== 'repair';
    const refusal = isFull ? `${OPEN_MAX} questions are being answered already` : this.#door.refusal();
    if (refusal !== undefined) return refused(refusal);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#open++;
    const start = { kind: 'pipeline', trigger: question.ask, input: question } as const;
    const update = this.#door.start(start, ({ outcome }) => {
      this.#open--;
      resolve(answerOf(outcome));
    });
    const withdraw = () => this.#door.cancel(update, 'whoever asked has gone');
    return { answer: promise, withdraw: question.ask === 'repair' ? () => {} : withdraw };
  }
}

const refused = (why: string): Asked => ({ answer: Promise.resolve({ kind: 'refused', why }), withdraw: () => {} });

function answerOf(outcome: RunOutcome): Answer {
  if (outcome.kind === 'failed') return { kind: 'refused', why: outcome.error.message };
  if (outcome.kind === 'cancelled') return { kind: 'refused', why: `it was cancelled: ${outcome.why}` };
  const value = outcome.kind === 'done' ? outcome.value : undefined;
  if (value === undefined)
    return { kind: 'refused', why: 'its runner is of a version that does not know the question' };
  return { kind: 'answered', value };
}
