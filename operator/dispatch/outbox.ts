// What the dispatcher says to runners, held until the turn in which it decided is over: a runner that answers at once never
// finds the dispatcher in the middle of a decision, and messages of one turn leave together. Order is kept (K2).
import type { CardGrant, FencingToken, RunNumber, Runner, RunOrder, RunOutcome } from '../../runner/protocol/index.ts';

type Post =
  | { readonly kind: 'start'; readonly to: Runner; readonly order: RunOrder }
  | { readonly kind: 'cancel'; readonly to: Runner; readonly run: RunNumber; readonly why: string }
  | { readonly kind: 'renewed'; readonly to: Runner; readonly run: RunNumber; readonly token: FencingToken }
  | { readonly kind: 'mountStarted'; readonly to: Runner; readonly run: RunNumber; readonly mount: number }
  | {
      readonly kind: 'mountEnded';
      readonly to: Runner;
      readonly run: RunNumber;
      readonly mount: number;
      readonly outcome: RunOutcome;
    }
  | {
      readonly kind: 'cardGranted';
      readonly to: Runner;
      readonly run: RunNumber;
      readonly ask: number;
      readonly grant: CardGrant;
    }
  | {
      readonly kind: 'cardRefused';
      readonly to: Runner;
      readonly run: RunNumber;
      readonly ask: number;
      readonly why: string;
    }
  /** Tells an observer; for updates and runners, never for each run. */
  | { readonly kind: 'tell'; readonly tell: () => void };

/** Calls `flush` once, soon, and never before the caller has returned. */
export type Defer = (flush: () => void) => void;

export class Outbox {
  #posts: Post[] = [];
  #isDue = false;
  readonly #defer: Defer;
  readonly #flush = (): void => this.flush();

  constructor(defer: Defer) {
    this.#defer = defer;
  }

  post(post: Post): void {
    this.#posts.push(post);
    if (this.#isDue) return;
    this.#isDue = true;
    this.#defer(this.#flush);
  }

  /** Delivers everything; what a runner causes by answering at once goes out with the next turn. */
  flush(): void {
    const posts = this.#posts;
    this.#posts = [];
    this.#isDue = false;
    for (const post of posts) deliver(post);
  }
}

function deliver(post: Post): void {
  if (post.kind === 'start') post.to.start(post.order);
  else if (post.kind === 'cancel') post.to.cancel(post.run, post.why);
  else if (post.kind === 'renewed') post.to.renewed(post.run, post.token);
  else if (post.kind === 'mountStarted') post.to.mountStarted(post.run, post.mount);
  else if (post.kind === 'mountEnded') post.to.mountEnded(post.run, post.mount, post.outcome);
  else if (post.kind === 'cardGranted') post.to.cardGranted(post.run, post.ask, post.grant);
  else if (post.kind === 'cardRefused') post.to.cardRefused(post.run, post.ask, post.why);
  else post.tell();
}
