// YAML as kubectl reads it (YAML 1.1 scalars: `yes` is true, `0755` is 493), with the place of every field.
//   Y1. A file means the same here and through kubectl; what would differ is refused.
//   Y2. A value remembers how it was written, so that a message can say that YAML, not the user, made `on` a boolean.
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  visit,
} from 'yaml';

/** Line and column, both from 1. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

export type YamlPath = readonly (string | number)[];

/** One document of a file. */
export interface YamlDocument {
  readonly value: unknown;
  /** Place of the key of a field, or of the deepest part of the path that is there. */
  spotOf(path: YamlPath): Spot;
  /** How a plain scalar was written; undefined for anything else. */
  writtenAs(path: YamlPath): string | undefined;
}

/** Text that is no YAML, or YAML that kubectl would read as something else. */
export interface YamlProblem extends Spot {
  readonly message: string;
}

/** kubectl reads these as plain text, or not at all. */
const LEFT_OUT = new Set(['timestamp', 'set', 'omap', 'pairs', 'binary'].map((name) => `tag:yaml.org,2002:${name}`));

/** `0o755`, an octal number to kubectl too. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  format: 'OCT',
  test: /^[-+]?0o[0-7_]+$/,
  resolve: (text) => Number.parseInt(text.replace(/0o|_/g, ''), 8),
};

/** A lone `.` is a folder to people and to kubectl, and no number. */
const dot: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^[-+]?[._]+$/,
  resolve: (text) => text,
};

const asKubectl = (tags: Tags): Tags => [
  dot,
  ...tags.filter((tag) => typeof tag === 'string' || !(LEFT_OUT.has(tag.tag) || tag.format === 'TIME')),
  octal,
];

/** The documents of a text, without empty ones, and what is wrong with the text itself. */
export function readYaml(text: string): { documents: YamlDocument[]; problems: YamlProblem[] } {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, {
    version: '1.1',
    customTags: asKubectl,
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const documents: YamlDocument[] = [];
  const problems: YamlProblem[] = [];
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const wrong = problemsOf(document, lines);
    problems.push(...wrong);
    if (wrong.length === 0 && !isEmpty(document)) documents.push(located(document, lines));
  }
  return { documents, problems };
}

const isEmpty = ({ contents }: Document.Parsed): boolean =>
  contents === null || (isScalar(contents) && contents.value === null && (contents.source ?? '') === '');

/** Aliases that multiply each other could fill the memory; so many values through one alias are plenty for an object. */
const MAX_ALIASED = 100;

function problemsOf(document: Document.Parsed, lines: LineCounter): YamlProblem[] {
  const at = (offset: number, message: string): YamlProblem => ({ ...spotAt(offset, lines), message });
  const found = [...document.errors, ...document.warnings].map((error) => at(error.pos[0], sentenceOf(error.message)));
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'number' && !Number.isFinite(node.value))
        found.push(at(node.range?.[0] ?? 0, `${node.source} is no number that an object can hold`));
    },
  });
  if (found.length > 0) return found;
  const lost = nameless(document);
  if (lost !== undefined)
    return [at(startOf(lost), `*${lost.source} stands for nothing: no &${lost.source} is before it in this document`)];
  return multiplies(document)
    ? [at(document.range[0], 'this is not YAML for an object: its aliases multiply each other')]
    : [];
}

/** The first alias without an anchor; anchors end with their document. */
function nameless(document: Document.Parsed): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias: (_key, node) => {
      if (node.resolve(document) !== undefined) return undefined;
      found = node;
      return visit.BREAK;
    },
  });
  return found;
}

function multiplies(document: Document.Parsed): boolean {
  try {
    document.toJS({ maxAliasCount: MAX_ALIASED });
    return false;
  } catch (error) {
    if (error instanceof ReferenceError) return true;
    throw error;
  }
}

function sentenceOf(message: string): string {
  const tag = /^Unresolved tag: (\S+)/.exec(message);
  if (tag) return `the tag ${tag[1]} has no meaning in an object`;
  return `this is not YAML: ${message}`;
}

function spotAt(offset: number, lines: LineCounter): Spot {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function located(document: Document.Parsed, lines: LineCounter): YamlDocument {
  return {
    value: document.toJS({ maxAliasCount: MAX_ALIASED }),
    spotOf: (path) => spotAt(follow(document, path).offset, lines),
    writtenAs: (path) => {
      const { node } = follow(document, path);
      return isScalar(node) && node.type === 'PLAIN' ? node.source : undefined;
    },
  };
}

/** Walks a path as far as it goes. `node`: the value at its end, if the path goes all the way. */
function follow(document: Document.Parsed, path: YamlPath): { node: Node | undefined; offset: number } {
  let node: Node | undefined = document.contents ?? undefined;
  let offset = startOf(node);
  for (const key of path) {
    const owner: Node | undefined = isAlias(node) ? node.resolve(document) : node;
    const step = stepInto(owner, key);
    if (step === undefined) return { node: undefined, offset };
    node = step.node;
    offset = step.offset;
  }
  return { node, offset };
}

function stepInto(
  owner: Node | undefined,
  key: string | number,
): { node: Node | undefined; offset: number } | undefined {
  if (isSeq(owner)) {
    const item = owner.items[Number(key)];
    return isNode(item) ? { node: item, offset: startOf(item) } : undefined;
  }
  if (!isMap(owner)) return undefined;
  const pair = owner.items.find((one) => isPair(one) && keyText(one) === String(key));
  if (pair === undefined) return undefined;
  return {
    node: isNode(pair.value) ? pair.value : undefined,
    offset: startOf(isNode(pair.key) ? pair.key : undefined),
  };
}

const keyText = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key);

const startOf = (node: Node | undefined): number => node?.range?.[0] ?? 0;
