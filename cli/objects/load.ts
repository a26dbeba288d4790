// Objects from files: everything that is there, and everything that is wrong with it, at once.
import type { LiveSource, Pipeline } from '../../crds/schema/index.ts';
import { problemsBetween } from './between.ts';
import { type FileWorld, readTexts, type SourceText } from './files.ts';
import { type Loaded, type Origin, type Reading, readObjects, type SecretValues } from './object.ts';
import { inReadingOrder, type Problem } from './problem.ts';
import { readYaml } from './yaml.ts';

/** The objects of a set of files. */
export interface ObjectSet {
  readonly pipelines: readonly Loaded<Pipeline>[];
  readonly sources: readonly Loaded<LiveSource>[];
  readonly secrets: readonly Loaded<SecretValues>[];
  /** Names of Pipelines that are there but wrong, so that what refers to them is not blamed too. */
  readonly broken: readonly { readonly namespace: string; readonly name: string }[];
}

export interface Loading {
  readonly objects: ObjectSet;
  /** All problems, in reading order. Empty: everything is valid. */
  readonly problems: readonly Problem[];
  /** Objects of other kinds, which were not looked at. */
  readonly skipped: readonly { readonly called: string; readonly origin: Origin }[];
  /** Whether some path could not be read at all. */
  readonly unreadable: boolean;
}

/** Reads files, folders and standard input (`-`). Never throws for what is wrong with the files: that is in `problems`. */
export async function loadObjects(paths: readonly string[], world: FileWorld): Promise<Loading> {
  const { texts, unreadable } = await readTexts(paths, world);
  const loading = loadTexts(texts);
  return {
    ...loading,
    problems: [...unreadable.map(({ name, message }) => ({ file: name, message })), ...loading.problems],
    unreadable: unreadable.length > 0,
  };
}

/** The same for texts that were read already. */
export function loadTexts(texts: readonly SourceText[]): Loading {
  const problems: Problem[] = [];
  const readings: Reading[] = [];
  for (const { name, folder, text } of texts) {
    const { documents, problems: syntax } = readYaml(text);
    problems.push(...syntax.map((problem) => ({ file: name, ...problem })));
    readings.push(...documents.flatMap((document) => readObjects(document, name, folder)));
  }
  const objects = sorted(readings);
  problems.push(...readings.flatMap((reading) => (reading.kind === 'wrong' ? reading.problems : [])));
  problems.push(...problemsBetween(objects));
  return {
    objects,
    problems: inReadingOrder(
      problems,
      texts.map((text) => text.name),
    ),
    skipped: readings.flatMap((reading) => (reading.kind === 'other' ? [reading] : [])),
    unreadable: false,
  };
}

function sorted(readings: readonly Reading[]): ObjectSet {
  const pipelines: Loaded<Pipeline>[] = [];
  const sources: Loaded<LiveSource>[] = [];
  const secrets: Loaded<SecretValues>[] = [];
  const broken: { namespace: string; name: string }[] = [];
  for (const reading of readings) {
    if (reading.kind === 'Pipeline') pipelines.push(reading.object);
    if (reading.kind === 'LiveSource') sources.push(reading.object);
    if (reading.kind === 'Secret') secrets.push(reading.object);
    if (reading.kind === 'wrong' && reading.pipeline !== undefined) broken.push(reading.pipeline);
  }
  return { pipelines, sources, secrets, broken };
}
