// Progress on a terminal: one line for each source with a bar, redrawn in place on standard error.

import pc from 'picocolors';
import { printable, printableName } from '../printable.ts';
import { amountText, Paces } from './pace.ts';
import {
  detailText,
  type EndedUpdate,
  endedText,
  type FailedItem,
  type Reporter,
  type SourceState,
  type Streams,
} from './report.ts';

const BAR_WIDTH = 24;
/** One line for each source up to here; the rest is summed up, so that the screen stays readable. */
const LINES_MAX = 12;
const EIGHTHS = ['░', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of eighths of a character; `#` where the terminal has no such characters. */
export function bar(part: number, width: number, isAscii: boolean): string {
  const filled = Math.max(0, Math.min(1, part)) * width;
  const whole = Math.floor(filled);
  if (isAscii) return '#'.repeat(whole).padEnd(width, '.');
  const rest = whole === width ? '' : EIGHTHS[Math.floor((filled - whole) * 8)];
  return `${'█'.repeat(whole)}${rest}`.padEnd(width, '░');
}

export interface Terminal extends Streams {
  readonly columns: () => number;
  /** No characters beyond ASCII. */
  readonly isAscii: boolean;
}

export class TerminalReport implements Reporter {
  readonly #terminal: Terminal;
  readonly #paces = new Paces();
  /** Lines of progress on the screen now. */
  #drawn = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  progress(states: readonly SourceState[], nowMs: number): void {
    const lines = states.slice(0, LINES_MAX).map((state) => this.#line(state, nowMs));
    if (states.length > LINES_MAX) lines.push(`  and ${states.length - LINES_MAX} more sources`);
    const columns = this.#terminal.columns();
    const cut = lines.map((line) => ([...line].length > columns ? [...line].slice(0, columns - 1).join('') : line));
    this.#terminal.err(`${this.#eraser()}${cut.map((line) => `${pc.cyan(line)}\n`).join('')}`);
    this.#drawn = cut.length;
  }

  ended(update: EndedUpdate): void {
    this.#paces.ended(update);
    this.#above(() => this.#terminal.out(`${colour(update)(endedText(update))}\n`));
  }

  failed({ source, key, message }: FailedItem): void {
    this.#above(() => this.#terminal.err(`${pc.red(`${source}: ${printableName(key)}`)}: ${printable(message)}\n`));
  }

  note(message: string): void {
    this.#above(() => this.#terminal.err(`${printable(message)}\n`));
  }

  event(): void {}

  close(): void {
    this.#above(() => {});
  }

  #line(state: SourceState, nowMs: number): string {
    const pace = this.#paces.seen(state, nowMs);
    const { done, total } = state.progress;
    const drawn = bar(total === 0 ? 0 : done / total, BAR_WIDTH, this.#terminal.isAscii);
    const slots = `${state.held} held, ${state.waiting} waiting`;
    return [state.source.padEnd(12), drawn, amountText(state), ...pace, slots, ...detailText(state)].join('  ');
  }

  /** Writes something that stays, above the progress. */
  #above(write: () => void): void {
    if (this.#drawn > 0) this.#terminal.err(this.#eraser());
    this.#drawn = 0;
    write();
  }

  #eraser(): string {
    return this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A\u001b[0J`;
  }
}

function colour({ result }: EndedUpdate): (text: string) => string {
  if (result === 'Succeeded') return pc.green;
  return result === 'Failed' ? pc.red : pc.yellow;
}
