// `fairlead top`: the live tree. Keys: s sorts, o opens and closes the sources, q ends.
import type { Command } from 'commander';
import type { Overview } from '../../operator/api/index.ts';
import { print } from '../output.ts';
import { addRemote, chosen, type RemoteOptions, withOperator } from '../remote/session.ts';
import { ratesBetween, SORT_KEYS, type SortKey, topText } from '../remote/top-text.ts';

interface Options extends RemoteOptions {
  readonly once?: boolean;
  readonly sort: SortKey;
}

const HOME_AND_CLEAR = '\u001b[H\u001b[J';
const ALTERNATE_ON = '\u001b[?1049h\u001b[?25l';
const ALTERNATE_OFF = '\u001b[?25h\u001b[?1049l';

export function configure(command: Command): void {
  command
    .description(
      'Show the tree as it is: slots held and waited for by each source and update, rate and freshness. On a terminal it stays and follows; keys: s sorts, o opens the sources, q ends.',
    )
    .option('--once', 'print it once and end, as without a terminal')
    .addOption(command.createOption('--sort <key>', 'order of branches').choices(SORT_KEYS).default('opened'));
  addRemote(command).action(run);
}

async function run(options: Options): Promise<void> {
  const isLive = options.once !== true && options.output === undefined && process.stdout.isTTY === true;
  if (isLive) return follow(options);
  await withOperator(options, async (client) => {
    const overview = onlyChosen(await client.get<Overview>('/api/v1/overview'), options);
    await print(options.output, overview, () => topText(overview, { sort: options.sort, isOpen: true }));
  });
}

const onlyChosen = (overview: Overview, options: Options): Overview => ({
  ...overview,
  pipelines: chosen(overview.pipelines, options),
});

async function follow(options: Options): Promise<void> {
  const stop = new AbortController();
  const screen = new Screen(options.sort, () => stop.abort());
  try {
    await withOperator(options, async (client) => {
      for await (const overview of client.events<Overview>('/api/v1/events', stop.signal))
        screen.show(onlyChosen(overview, options));
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    screen.close();
  }
}

class Screen {
  #sort: SortKey;
  #isOpen = true;
  #now: Overview | undefined;
  #before: Overview | undefined;
  readonly #end: () => void;
  readonly #onKey = (key: Buffer) => this.#pressed(key.toString());

  constructor(sort: SortKey, end: () => void) {
    this.#sort = sort;
    this.#end = end;
    process.stdout.write(ALTERNATE_ON);
    if (process.stdin.isTTY) process.stdin.setRawMode(true).resume().on('data', this.#onKey);
    process.once('SIGINT', end);
  }

  show(overview: Overview): void {
    this.#before = this.#now;
    this.#now = overview;
    this.#draw();
  }

  close(): void {
    process.stdout.write(ALTERNATE_OFF);
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKey).setRawMode(false).pause();
  }

  #pressed(key: string): void {
    if (key === 'q' || key === '\u0003') return this.#end();
    if (key === 's') this.#sort = SORT_KEYS[(SORT_KEYS.indexOf(this.#sort) + 1) % SORT_KEYS.length]!;
    if (key === 'o') this.#isOpen = !this.#isOpen;
    this.#draw();
  }

  #draw(): void {
    if (this.#now === undefined) return;
    const rates = this.#before === undefined ? undefined : ratesBetween(this.#before, this.#now);
    const text = topText(this.#now, { sort: this.#sort, isOpen: this.#isOpen, ...(rates !== undefined && { rates }) });
    const rows = process.stdout.rows ?? 24;
    const lines = text.split('\n').slice(0, rows - 2);
    process.stdout.write(
      `${HOME_AND_CLEAR}${lines.join('\n')}\nsorted by ${this.#sort}   s sort   o open/close   q quit`,
    );
  }
}
