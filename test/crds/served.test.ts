// Definitions of a cluster against the fields of this version.
import { expect, test } from 'vitest';
import { emitCrds, type SchemaNode, schemaOf } from '../../crds/emit/index.ts';
import { KINDS, type KindName, missingFields } from '../../crds/schema/index.ts';

const kinds = Object.keys(KINDS) as KindName[];
/** As the API server would have it: JSON. */
const served = (kind: KindName): SchemaNode => JSON.parse(JSON.stringify(schemaOf(kind))) as SchemaNode;
const fieldsOf = (node: SchemaNode | undefined): Record<string, SchemaNode> => node?.properties ?? {};

test('the definitions of this version have every field that the operator reads and writes', () => {
  expect(emitCrds().length).toBe(kinds.length);
  for (const kind of kinds) expect(missingFields(kind, served(kind)), kind).toEqual([]);
});

test('a field that an older definition lacks is named with its path, and what lies below it is not told again', () => {
  const pipeline = served('Pipeline');
  delete fieldsOf(fieldsOf(fieldsOf(pipeline).spec).runners?.items).resourceName;
  delete fieldsOf(fieldsOf(pipeline).status).waitingFor;
  expect(missingFields('Pipeline', pipeline)).toEqual(['spec.runners[].resourceName', 'status.waitingFor']);
});

test('fields that a newer definition has besides are no trouble', () => {
  const source = served('LiveSource');
  fieldsOf(fieldsOf(source).spec).fromTheFuture = { type: 'string' };
  expect(missingFields('LiveSource', source)).toEqual([]);
});
