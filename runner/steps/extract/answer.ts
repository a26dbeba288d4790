// From a model's answer to fields: the text of the reply, the JSON object in it, and whether it fits the schema.
import { z } from 'zod';
import { type FieldValue, StepError } from '../../sdk/index.ts';

export type Fields = { readonly [name: string]: FieldValue };

/** What an answer is. `misfit`: it can be corrected, and `why` tells the model how. */
export type Answer =
  | { readonly kind: 'fields'; readonly fields: Fields }
  | { readonly kind: 'misfit'; readonly why: string };

export type AnswerReader = (content: string) => Answer;

/** A reader for a JSON schema. Throws StepError for a schema that cannot be checked. */
export function answerReader(schema: object): AnswerReader {
  const checked = checkerOf(schema);
  return (content) => {
    const value = jsonIn(content);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { kind: 'misfit', why: 'the answer must be one JSON object and nothing else' };
    }
    const result = checked.safeParse(value);
    if (!result.success) return { kind: 'misfit', why: z.prettifyError(result.error) };
    return { kind: 'fields', fields: value as Fields };
  };
}

function checkerOf(schema: object): z.ZodType {
  if (!('type' in schema) || schema.type !== 'object') {
    throw new StepError(
      'invalid',
      'extract.schema must have type: object, as its members become fields of the element',
    );
  }
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StepError('invalid', `extract.schema cannot be checked: ${why}`);
  }
}

/** The object of an answer, also where the model put a fence or words around it. */
function jsonIn(content: string): unknown {
  const [start, end] = [content.indexOf('{'), content.lastIndexOf('}')];
  for (const candidate of [content, start < 0 ? '' : content.slice(start, end + 1)]) {
    try {
      return JSON.parse(candidate);
    } catch {
      // not yet
    }
  }
  return undefined;
}

/** The text of a reply to /chat/completions. Throws StepError. */
export function contentOf(reply: unknown, server: string): string {
  const { choices } = (reply ?? {}) as { choices?: { message?: { content?: unknown }; finish_reason?: unknown }[] };
  const choice = Array.isArray(choices) ? choices[0] : undefined;
  if (choice?.finish_reason === 'length') {
    throw new StepError('invalid', `the answer of ${server} was cut off: raise extract.maxOutputTokens`);
  }
  const content = choice?.message?.content;
  if (typeof content !== 'string') throw new StepError('transient', `${server} answered without a message`);
  return content;
}
