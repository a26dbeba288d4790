// The step `split`: one element with text into many, each with its exact place.
import type { SplitSpec } from '../../../crds/schema/index.ts';
import type { Step, StepContext } from '../../execute/index.ts';
import type { Element, Place } from '../../sdk/index.ts';
import type { WorkerPool } from '../workers/pool.ts';
import { languageOf } from './languages.ts';
import { CHUNK_FIELDS } from './place.ts';
import type { SplitTaskInput } from './task.ts';

/** Raise it when chunks of equal input change, a new version of grammars included. */
const VERSION = 'split/1';
const WHOLE: Place = { startByte: 0, endByte: 0, startLine: 1, endLine: 1 };

export function openSplit(spec: SplitSpec, pool: WorkerPool): Step {
  const { by, chunkSize, overlap, language } = spec;
  const settings = { by, chunkSize, overlap, language };
  return {
    identity: `${VERSION}:${JSON.stringify(settings)}`,
    async run(elements, context) {
      const chunks = await Promise.all(elements.map((element) => split(element, settings, pool, context)));
      return chunks.flat();
    },
    close: async () => undefined,
  };
}

async function split(
  element: Element,
  settings: Omit<SplitTaskInput, 'text'>,
  pool: WorkerPool,
  context: StepContext,
): Promise<Element[]> {
  if (element.text === undefined || element.text === '') return [];
  const text = element.text.toWellFormed();
  const language = settings.language ?? element.language ?? languageOf(context.item.key);
  const input: SplitTaskInput = { ...settings, text, language };
  const places = await pool.run<Float64Array>('split', input, { label: context.item.key, signal: context.signal });
  return chunksOf(element, text, places, language);
}

function chunksOf(element: Element, text: string, places: Float64Array, language: string | undefined): Element[] {
  const { bytes: _raw, ...rest } = element;
  const origin = element.place ?? WHOLE;
  const chunks: Element[] = [];
  for (let i = 0; i < places.length; i += CHUNK_FIELDS) {
    chunks.push({
      ...rest,
      text: text.slice(places[i], places[i + 1]),
      place: {
        startByte: origin.startByte + places[i + 2]!,
        endByte: origin.startByte + places[i + 3]!,
        startLine: origin.startLine - 1 + places[i + 4]!,
        endLine: origin.startLine - 1 + places[i + 5]!,
      },
      ...(language === undefined ? {} : { language }),
    });
  }
  return chunks;
}
