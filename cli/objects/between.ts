// Rules between the objects of a set of files: names are unique, and what refers to another object finds it.
import { nearest } from '../../crds/schema/index.ts';
import type { ObjectSet } from './load.ts';
import type { Loaded } from './object.ts';
import { type Problem, placeText } from './problem.ts';

export const problemsBetween = (objects: ObjectSet): Problem[] => [
  ...repeated('Pipeline', objects.pipelines),
  ...repeated('LiveSource', objects.sources),
  ...unresolved(objects),
];

function repeated(kind: string, loaded: readonly Loaded<unknown>[]): Problem[] {
  const first = new Map<string, Loaded<unknown>>();
  return loaded.flatMap((object) => {
    const key = `${object.namespace}/${object.name}`;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, object);
    if (earlier === undefined) return [];
    const message = `another ${kind} of this name stands at ${placeText(earlier.origin)}`;
    return [object.problem(['metadata', 'name'], message)];
  });
}

function unresolved({ pipelines, sources, broken }: ObjectSet): Problem[] {
  return sources.flatMap((source) => {
    const wanted = source.value.spec.pipelineRef.name;
    const here = [...pipelines, ...broken].filter((one) => one.namespace === source.namespace).map((one) => one.name);
    if (here.includes(wanted)) return [];
    const near = nearest(wanted, here);
    const elsewhere = pipelines.find((one) => one.name === wanted)?.namespace;
    const help =
      near !== undefined
        ? `; did you mean ${near}?`
        : elsewhere !== undefined
          ? `; there is one in namespace ${elsewhere}, and a LiveSource feeds a Pipeline of its own namespace`
          : '; give its file too';
    const message = `there is no Pipeline ${wanted} in namespace ${source.namespace} among the files${help}`;
    return [source.problem(['spec', 'pipelineRef', 'name'], message)];
  });
}
