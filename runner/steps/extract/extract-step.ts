// The step `extract`: asks a model for facts about each element; the answer becomes fields of the element. An answer that
// does not fit the schema goes back to the model with what is wrong, a bounded number of times.
import { hash } from 'node:crypto';
import type { EndpointSpec, ExtractSpec } from '../../../crds/schema/index.ts';
import type { Step, StepContext } from '../../execute/index.ts';
import { type BatchedCalls, batchedCalls, type Element, StepError } from '../../sdk/index.ts';
import type { Endpoint, PostOptions } from '../endpoint/endpoint.ts';
import { estimateTokens } from '../endpoint/tokens.ts';
import { type AnswerReader, answerReader, contentOf, type Fields } from './answer.ts';
import { Dialect } from './dialect.ts';

/** Raise it when the same model would be asked something else. */
const VERSION = 'extract/1';
const IN_FLIGHT_MAX = 8;
/** Answers to one element, the first one included. */
const ANSWERS_MAX = 3;

export interface ExtractSettings {
  readonly spec: ExtractSpec;
  readonly server: EndpointSpec;
  /** Its requests hold a card. */
  readonly gpu: boolean;
  /** Limit of one request. */
  readonly timeoutMs: number;
}

export function openExtract(settings: ExtractSettings, endpoint: Endpoint): Step {
  const { spec, server } = settings;
  const schema = spec.schema as object;
  const extractor = new Extractor(settings, endpoint, answerReader(schema));
  return {
    identity: `${VERSION}:${JSON.stringify([server.model, spec.instructions, schema, spec.maxOutputTokens])}`,
    run(elements, context) {
      return extractor.run(elements, context, this.identity);
    },
    close: () => endpoint.close(),
  };
}

/** On whose behalf a request is made. */
type Call = Pick<PostOptions, 'signal' | 'calls'>;

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

class Extractor {
  readonly #settings: ExtractSettings;
  readonly #endpoint: Endpoint;
  readonly #read: AnswerReader;
  readonly #dialect = new Dialect();
  readonly #calls: BatchedCalls<string, Fields, StepContext>;

  constructor(settings: ExtractSettings, endpoint: Endpoint, read: AnswerReader) {
    this.#settings = settings;
    this.#endpoint = endpoint;
    this.#read = read;
    // One text a request: a chat has no batches. The queue bounds how many are open.
    this.#calls = batchedCalls(
      async ([text = ''], { context, signal }) => {
        const call = { signal, calls: [context.calls] };
        return [await context.withCard(() => this.#ask(text, call), signal)];
      },
      { gpu: settings.gpu, maxSize: 1, maxInFlight: IN_FLIGHT_MAX },
    );
  }

  async run(elements: readonly Element[], context: StepContext, identity: string): Promise<readonly Element[]> {
    const results = await Promise.allSettled(elements.map((element) => this.#extract(element, context, identity)));
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  async #extract(element: Element, context: StepContext, identity: string): Promise<Element> {
    const { text } = element;
    if (text === undefined || text.trim() === '') return element;
    const key = hash('sha256', `${identity}\n${text}`, 'hex').slice(0, 32);
    const [known] = context.reprocess ? [] : await context.memo.get([key]);
    if (known !== undefined) return withFields(element, JSON.parse(Buffer.from(known).toString('utf8')) as Fields);
    const fields = await this.#calls.call(text, { context, signal: context.signal });
    context.memo.put([{ key, value: Buffer.from(JSON.stringify(fields)) }]);
    return withFields(element, fields);
  }

  async #ask(text: string, call: Call): Promise<Fields> {
    const { spec } = this.#settings;
    const messages: Message[] = [
      {
        role: 'system',
        content: `${spec.instructions}\n\nAnswer with one JSON object that fits this JSON schema:\n${JSON.stringify(spec.schema)}`,
      },
      { role: 'user', content: text },
    ];
    for (let answers = 1; ; answers++) {
      const content = contentOf(await this.#post(messages, call), this.#endpoint.name);
      const answer = this.#read(content);
      if (answer.kind === 'fields') return answer.fields;
      if (answers >= ANSWERS_MAX) {
        throw new StepError('invalid', `none of ${ANSWERS_MAX} answers fits the schema: ${answer.why}`);
      }
      messages.push(
        { role: 'assistant', content },
        {
          role: 'user',
          content: `That does not fit the schema:\n${answer.why}\nAnswer again, with only the JSON object.`,
        },
      );
    }
  }

  async #post(messages: readonly Message[], call: Call): Promise<unknown> {
    const { spec, server, timeoutMs } = this.#settings;
    const asked = this.#dialect.members(spec.schema as object, spec.maxOutputTokens);
    const body = { model: server.model, messages, temperature: 0, ...asked };
    const input = messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);
    try {
      const tokens = input + spec.maxOutputTokens;
      return await this.#endpoint.post('/chat/completions', body, { tokens, timeoutMs, ...call });
    } catch (error) {
      if (!this.#dialect.learns(error)) throw error;
      return this.#post(messages, call);
    }
  }
}

const withFields = (element: Element, fields: Fields): Element => ({
  ...element,
  fields: { ...element.fields, ...fields },
});
