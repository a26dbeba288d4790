// What is generated from the schema: it is whole, it is what the repository holds, and the lint finds each kind of fault.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadObjects } from '../../cli/objects/index.ts';
import {
  columnsOf,
  emitCrds,
  fieldPaths,
  generatedFiles,
  lint,
  type SchemaNode,
  toStructural,
} from '../../crds/emit/index.ts';
import { KINDS, type KindName } from '../../crds/schema/index.ts';

const kinds = Object.keys(KINDS) as KindName[];

describe('the generated files', () => {
  for (const [path, text] of generatedFiles())
    test(`${path} is what the schema says (else: make generate)`, () => expect(readFileSync(path, 'utf8')).toBe(text));

  test('are all that lies in their folders', () => {
    const known = new Set(generatedFiles().keys());
    for (const path of globSync(['crds/manifests/*', 'charts/fairlead/templates/crds/*']))
      expect(known).toContain(path);
  });

  test('give the chart CRDs that an upgrade upgrades and an uninstall keeps', () => {
    for (const [path, text] of generatedFiles()) {
      if (!path.startsWith('charts/')) continue;
      expect(text).toContain('{{- if .Values.crds.enabled }}');
      expect(text).toContain('helm.sh/resource-policy: keep');
      expect(text.match(/\{\{/g)).toHaveLength(4);
    }
  });

  test('describe every field of every object on the reference page', () => {
    const page = readFileSync('docs/reference/objects.md', 'utf8');
    for (const kind of kinds)
      for (const path of fieldPaths(kind)) {
        const field = path.split('.').findLast((part) => !/^(\*|\[\])*$/.test(part));
        expect(page).toContain(`| \`${field?.replaceAll('[]', '')}\``);
      }
  });
});

describe('the CRDs', () => {
  test('print at most seven columns unless asked for more, Age last, each with a description', () => {
    for (const kind of kinds) {
      const columns = columnsOf(kind);
      expect(columns.filter((column) => column.priority === undefined).map((column) => column.name)).toEqual([
        'Ready',
        'Held',
        'Waiting',
        'Cards',
        'Freshness',
        'Items',
        'Age',
      ]);
      expect(columns.at(-1)?.name).toBe('Age');
      for (const column of columns) expect(column.description).not.toBe('');
    }
  });

  test('have their short names, their category and the status subresource', () => {
    expect(emitCrds().map((crd) => crd.spec)).toMatchObject([
      { names: { shortNames: ['fpl'], categories: ['fairlead'] }, versions: [{ subresources: { status: {} } }] },
      { names: { shortNames: ['fls'], categories: ['fairlead'] }, versions: [{ subresources: { status: {} } }] },
    ]);
  });

  test('select by at most eight fields each', () => {
    for (const { spec } of emitCrds()) {
      const [version] = spec.versions as [{ selectableFields: unknown[] }];
      expect(version.selectableFields.length).toBeLessThanOrEqual(8);
    }
  });
});

describe('the lint', () => {
  const d = { description: 'A thing.' };
  const table: Readonly<Record<string, { schema: z.ZodType; want: string }>> = {
    'a field without description': { schema: z.object({ a: z.boolean() }).meta(d), want: 'at.a: has no description' },
    'a description that is no sentence': {
      schema: z.object({ a: z.boolean().meta({ description: 'a thing' }) }).meta(d),
      want: 'at.a: description does not end as a sentence',
    },
    'text without bound': { schema: z.string().meta(d), want: 'at: is text without maxLength' },
    'a list without bound': {
      schema: z.array(z.boolean().meta(d)).meta({ ...d, 'x-kubernetes-list-type': 'atomic' }),
      want: 'at: is a list without maxItems',
    },
    'a list without kind': {
      schema: z.array(z.boolean().meta(d)).max(1).meta(d),
      want: 'is a list without x-kubernetes-list-type',
    },
    'a map without bound': {
      schema: z.record(z.string(), z.boolean().meta(d)).meta(d),
      want: 'at: is a map without maxProperties',
    },
    'an integer without bounds': { schema: z.int().meta(d), want: 'at: is an integer without minimum and maximum' },
    'a number that need not be whole': {
      schema: z.number().min(0).max(1).meta(d),
      want: 'at: is a number that need not be whole',
    },
    'a union': { schema: z.union([z.boolean(), z.int()]).meta(d), want: 'at: has no type' },
    'a discriminated union': {
      schema: z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]).meta(d),
      want: 'at: keyword oneOf is not part of a CRD',
    },
    'two patterns': {
      schema: z.string().max(9).regex(/a/).regex(/b/).meta(d),
      want: 'keyword allOf is not part of a CRD',
    },
    'a pattern with look-ahead': {
      schema: z
        .string()
        .max(9)
        .regex(/^(?!a)/)
        .meta(d),
      want: 'is none of RE2',
    },
    'fixed and free fields at once': {
      schema: z.looseObject({ a: z.boolean().meta(d) }).meta(d),
      want: 'has fixed and free fields at once',
    },
    'a default that leaves out a default below it': {
      schema: z
        .object({ a: z.boolean().default(true).meta(d), b: z.boolean().default(true).meta(d) })
        .default({ a: true } as { a: boolean; b: boolean })
        .meta(d),
      want: 'at: its default must write out the default of b',
    },
    'a list key that is not required': {
      schema: z
        .array(z.object({ name: z.string().max(9).optional().meta(d) }).meta(d))
        .max(1)
        .meta({ ...d, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
      want: 'at: list key name must be required',
    },
    'a rule whose field does not exist': {
      schema: z
        .object({})
        .meta({ ...d, 'x-kubernetes-validations': [{ rule: 'true', message: 'm', fieldPath: '.b' }] }),
      want: 'at: fieldPath .b does not exist',
    },
    'a rule without message': {
      schema: z.object({}).meta({ ...d, 'x-kubernetes-validations': [{ rule: 'true' }] }),
      want: 'at: rule true has no message',
    },
    'a rule with a pattern of JavaScript only': {
      schema: z.object({}).meta({
        ...d,
        'x-kubernetes-validations': [{ rule: "self.a.matches('(?=a)')", message: 'm' }],
      }),
      want: 'is none of RE2',
    },
  };
  for (const [sentence, { schema, want }] of Object.entries(table)) {
    test(`finds ${sentence}`, () => {
      expect(lint(toStructural(schema), 'at')).toEqual(expect.arrayContaining([expect.stringContaining(want)]));
    });
  }

  test('passes a schema that is well made', () => {
    const schema = z.strictObject({ a: z.string().max(9).default('x').meta(d) }).meta(d);
    expect(lint(toStructural(schema), 'at')).toEqual([]);
  });

  test('refuses what cannot be emitted at all', () => {
    expect(() => toStructural(z.object({ a: z.date() }))).toThrow();
    expect(() => lint(toStructural(z.object({ a: z.unknown().meta(d) }).meta(d)) as SchemaNode, 'at')).not.toThrow();
    expect(lint(toStructural(z.object({ a: z.unknown().meta(d) }).meta(d)), 'at')).toContain('at.a: has no type');
  });
});

describe('the examples', () => {
  const world = { cwd: process.cwd(), stdin: () => Promise.resolve('') };

  for (const folder of [...globSync('examples/*'), 'docs/reference/every-field'])
    test(`${folder} is valid`, async () => {
      const { problems, objects } = await loadObjects([folder], world);
      expect(problems).toEqual([]);
      expect(objects.pipelines.length).toBeGreaterThan(0);
    });

  test('of every field leave none out', async () => {
    const { objects } = await loadObjects(['docs/reference/every-field'], world);
    const used = { Pipeline: new Set<string>(), LiveSource: new Set<string>() };
    for (const { value } of objects.pipelines) collect(value.spec, 'spec', used.Pipeline);
    for (const { value } of objects.sources) collect(value.spec, 'spec', used.LiveSource);
    for (const kind of kinds)
      expect(
        fieldPaths(kind).filter(
          (path) => !used[kind].has(path) && !path.endsWith('.env') && !path.includes('secretKeyRef'),
        ),
      ).toEqual([]);
  });
});

/** Paths of all fields of a value, items as `[]` and entries of free maps as `*`. */
function collect(value: unknown, path: string, into: Set<string>): void {
  into.add(path);
  if (Array.isArray(value)) for (const item of value) collect(item, `${path}[]`, into);
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) {
      collect(member, `${path}.${key}`, into);
      into.add(`${path}.*`);
    }
}
