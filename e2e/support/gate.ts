// The embedder of a place, behind a gate: see e2e/services/gate.mjs.
import { fileURLToPath } from 'node:url';
import { e2eFile, type Place } from './place.ts';
import { type Forwarded, forward, run } from './programs.ts';
import { WITHIN_MS } from './watch.ts';

export class Gate {
  readonly #forwarded: Forwarded;

  static async serve(place: Place): Promise<Gate> {
    const program = fileURLToPath(e2eFile('services/gate.mjs'));
    const configMap = ['create', 'configmap', 'gate', `--from-file=${program}`, '--dry-run=client', '-o', 'json'];
    await place.apply(await run('kubectl', configMap));
    await place.serve('services/gate.yaml', 'gate');
    return new Gate(await forward(place.namespace, 'gate', 8080));
  }

  private constructor(forwarded: Forwarded) {
    this.#forwarded = forwarded;
  }

  readonly close = (): Promise<unknown> => this.#ask('close', 'POST');
  readonly open = (): Promise<unknown> => this.#ask('open', 'POST');

  /** An open gate answers each question after so long. */
  pace(ms: number): Promise<unknown> {
    return this.#ask(`pace?ms=${ms}`, 'POST');
  }

  /** Resolves when so many texts wait at the closed gate. */
  waiting(count: number): Promise<unknown> {
    return this.#ask(`waiting?n=${count}`);
  }

  /** How often each text that holds a word was asked for. */
  async asked(word: string): Promise<Readonly<Record<string, number>>> {
    const { texts } = (await this.#ask('seen')) as { texts: Record<string, number> };
    const found = Object.entries(texts).filter(([text]) => text.includes(word));
    return Object.fromEntries(found.map(([text, count]) => [text.trim(), count]));
  }

  stop(): void {
    this.#forwarded.stop();
  }

  async #ask(path: string, method = 'GET'): Promise<unknown> {
    const signal = AbortSignal.timeout(WITHIN_MS);
    return (await fetch(`http://127.0.0.1:${this.#forwarded.port}/${path}`, { method, signal })).json();
  }
}
