// `fairlead top`: the live tree.
import type { Command } from 'commander';
import type { Overview } from '../../operator/api/index.ts';
import { print } from '../output.ts';
import { addRemote, chosen, type RemoteOptions, withOperator } from '../remote/session.ts';
import { TopScreen } from '../remote/top-screen.ts';
import { SORT_KEYS, type SortKey, topText } from '../remote/top-text.ts';

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
      'Show the tree as it is: slots held and waited for by each source and update, rate and freshness. On a terminal it stays and follows; keys: the arrows choose a branch, o opens and closes it, a all of them, s sorts, q ends.',
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
    await print(options.output, overview, () => topText(overview, { sort: options.sort, isOpen: () => true }));
  });
}

const onlyChosen = (overview: Overview, options: Options): Overview => ({
  ...overview,
  pipelines: chosen(overview.pipelines, options),
});

async function follow(options: Options): Promise<void> {
  const stop = new AbortController();
  const terminal = new Terminal(new TopScreen(options.sort), () => stop.abort());
  try {
    await withOperator(options, async (client) => {
      for await (const overview of client.events<Overview>('/api/v1/events', stop.signal))
        terminal.show(onlyChosen(overview, options));
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    terminal.close();
  }
}

/** The screen on the terminal: what it draws and what it hears. */
class Terminal {
  readonly #screen: TopScreen;
  readonly #end: () => void;
  readonly #onKey = (key: Buffer) => this.#pressed(key.toString());

  constructor(screen: TopScreen, end: () => void) {
    this.#screen = screen;
    this.#end = end;
    process.stdout.write(ALTERNATE_ON);
    if (process.stdin.isTTY) process.stdin.setRawMode(true).resume().on('data', this.#onKey);
    process.once('SIGINT', end);
  }

  show(overview: Overview): void {
    this.#screen.show(overview);
    this.#draw();
  }

  close(): void {
    process.stdout.write(ALTERNATE_OFF);
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKey).setRawMode(false).pause();
  }

  #pressed(key: string): void {
    if (this.#screen.press(key)) this.#end();
    else this.#draw();
  }

  #draw(): void {
    process.stdout.write(`${HOME_AND_CLEAR}${this.#screen.lines(process.stdout.rows ?? 24).join('\n')}`);
  }
}
