// The step `read`: the item's content as one element. The text is decoded once; its place covers the whole item.
import { quantityBytes, type ReadSpec } from '../../../crds/schema/index.ts';
import type { ItemContent, Step, StepContext } from '../../execute/index.ts';
import { type Element, StepError } from '../../sdk/index.ts';
import { languageOf } from '../split/languages.ts';
import { decode } from './decode.ts';

/** Raise it when equal content gives other text. */
const VERSION = 'read/1';

export function openRead(spec: ReadSpec): Step {
  const maxBytes = quantityBytes(spec.maxBytes);
  const { content, encoding, onBinary, onTooLarge } = spec;
  return {
    identity: `${VERSION}:${JSON.stringify({ maxBytes, content, encoding, onBinary, onTooLarge })}`,
    run: (elements, context) => read(elements, context, spec, maxBytes),
    close: async () => undefined,
  };
}

async function read(
  elements: readonly Element[],
  context: StepContext,
  spec: ReadSpec,
  maxBytes: number,
): Promise<readonly Element[]> {
  const [first = {}] = elements;
  const { key } = context.item;
  const content = await contentOf(context, spec, maxBytes);
  if (content === undefined) return [];
  const language = languageOf(key);
  const known = { ...first, ...(language === undefined ? {} : { language }) };
  if (spec.content === 'Bytes') return [{ ...known, bytes: content.bytes }];
  const decoded = decode(content.bytes, spec.encoding);
  if (decoded.kind === 'binary') return binary(context, spec);
  if (decoded.note !== undefined) context.note?.(`${key} ${decoded.note}`);
  return [{ ...known, ...withPlace(decoded.text, decoded.markBytes) }];
}

/** Undefined: the item is larger than `maxBytes` and such items are skipped. */
async function contentOf(context: StepContext, spec: ReadSpec, maxBytes: number): Promise<ItemContent | undefined> {
  try {
    return await context.content(maxBytes);
  } catch (error) {
    const isTooLarge = error instanceof StepError && error.class === 'too-large';
    if (!isTooLarge || spec.onTooLarge === 'Fail') throw error;
    context.note?.(`${context.item.key} is larger than ${spec.maxBytes} and was skipped`);
    return undefined;
  }
}

function binary(context: StepContext, spec: ReadSpec): readonly Element[] {
  const { key } = context.item;
  if (spec.onBinary === 'Fail') throw new StepError('invalid', `${key} is binary: it has no text`);
  context.note?.(`${key} is binary: it has no text and was skipped`);
  return [];
}

function withPlace(text: string, markBytes: number): Element {
  const endByte = markBytes + Buffer.byteLength(text);
  return { text, place: { startByte: markBytes, endByte, startLine: 1, endLine: lineCount(text) } };
}

/** Lines as an editor counts them: a line break at the very end begins no new one. */
function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < text.length - 1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
