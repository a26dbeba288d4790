// The objects of the schema are what this room opens: what one side renames, the other must follow.
import { expect, it } from 'vitest';
import { liveSource, type SourceSpec as ObjectSourceSpec } from '../../crds/schema/index.ts';
import { openSource, type SourceSpec } from '../../runner/sources/index.ts';
import { sourceOptions, TempFolder } from './folder.ts';

/** Fails to compile where the schema's type does not fit. */
const asOpened = (spec: ObjectSourceSpec): SourceSpec => spec;

const secret = { env: 'SECRET' };
const kinds: Record<string, object> = {
  directory: { path: '.', include: ['**'], gitignore: true, symlinks: 'FollowInside', pollInterval: '2s' },
  git: { url: 'https://example.com/a.git', ref: 'main', path: 'docs', auth: { tokenFrom: secret } },
  http: { sitemap: 'https://example.com/sitemap.xml', tokenFrom: secret },
  postgres: { urlFrom: secret, table: 'docs', key: ['id'], content: 'body', channel: 'docs' },
  s3: { bucket: 'docs', accessKeyIdFrom: secret, secretAccessKeyFrom: secret },
  push: { secretFrom: secret },
};

for (const [kind, settings] of Object.entries(kinds)) {
  it(`a LiveSource of kind ${kind} opens and closes without touching anything outside`, async () => {
    const folder = new TempFolder();
    const when = kind === 'push' ? { mode: 'Watch' } : { mode: 'Refresh', interval: '1m' };
    const object = {
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'LiveSource',
      metadata: { name: 'docs' },
      spec: { pipelineRef: { name: 'docs' }, source: { [kind]: settings }, ...when },
    };
    const { spec } = liveSource.parse(object);
    const source = openSource(asOpened(spec.source), sourceOptions(folder, { keepDir: folder.path }));
    expect(source.list).toBeDefined();
    await source.close();
    folder.remove();
  });
}

it('a source of no known kind is refused by its name', () => {
  const folder = new TempFolder();
  expect(() => openSource({}, sourceOptions(folder))).toThrow(
    'the source of docs names no kind that this runner knows',
  );
  folder.remove();
});
