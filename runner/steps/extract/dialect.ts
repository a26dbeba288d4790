// Servers with the OpenAI interface differ in what they take; what one refused is not sent to it again.
import { EndpointError } from '../endpoint/failure.ts';

/** How the form of the answer is asked for, strictest first. */
type Format = 'json_schema' | 'json_object' | 'none';

export class Dialect {
  #format: Format = 'json_schema';
  #tokensField: 'max_tokens' | 'max_completion_tokens' = 'max_tokens';

  /** Members of the request that servers disagree about. */
  members(schema: object, maxOutputTokens: number): object {
    return { [this.#tokensField]: maxOutputTokens, ...this.#responseFormat(schema) };
  }

  /** Whether the refusal was about one of these members; then the next request will be without it. */
  learns(error: unknown): boolean {
    if (!(error instanceof EndpointError) || (error.status !== 400 && error.status !== 422)) return false;
    if (this.#tokensField === 'max_tokens' && /max_completion_tokens/i.test(error.words)) {
      this.#tokensField = 'max_completion_tokens';
      return true;
    }
    if (this.#format !== 'none' && /response_format|json_schema|json_object|guided|grammar/i.test(error.words)) {
      this.#format = this.#format === 'json_schema' ? 'json_object' : 'none';
      return true;
    }
    return false;
  }

  #responseFormat(schema: object): object {
    if (this.#format === 'none') return {};
    if (this.#format === 'json_object') return { response_format: { type: 'json_object' } };
    return { response_format: { type: 'json_schema', json_schema: { name: 'facts', schema } } };
  }
}
