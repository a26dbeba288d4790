// What every target promises, as one suite. Targets without search or vectors leave those claims out by name.
import { beforeEach, describe, expect, test } from 'vitest';
import type { RowChange, Target, TargetRow } from '../../runner/execute/index.ts';
import type { VectorColumn } from '../../runner/targets/index.ts';
import { along, change, DIMENSIONS, hexId, row, written } from './build.ts';

export interface TargetSettings {
  readonly vector?: VectorColumn;
  readonly pipeline?: string;
  readonly stateId?: string;
}

/** A place for one target: each `target()` is another process's view of it. */
export interface TargetPlace {
  target(settings?: TargetSettings): Promise<Target>;
  /** Applies changes as the engine would: by the target, or by a commit of the state that it lives in. */
  apply(target: Target, changes: readonly RowChange[]): Promise<void>;
  /** Text of each row by id, read from the store without the target. */
  texts(): Promise<ReadonlyMap<string, string>>;
}

export interface Abilities {
  readonly search: boolean;
  /** Declares the width of its vectors, and gives vectors back by key. */
  readonly vectors: boolean;
  /** Whether it lives in the state's store, so that the state cannot be lost without it. */
  readonly shared: boolean;
}

/** A commit whose record does not matter, only that the rows go with it. */
export function remembered(change: RowChange, token: { epoch: number; run: number; attempt: number }) {
  const path = `${change.owner}/run-${token.run}`;
  const changes = new Map([['vectors', change]]);
  return { kind: 'replace' as const, path, token, fingerprint: '', contentHash: '', rows: new Map(), changes };
}

const COSINE: TargetSettings = { vector: { dimensions: DIMENSIONS, metric: 'cosine' } };

export function targetContract(name: string, abilities: Abilities, makePlace: () => Promise<TargetPlace>): void {
  describe(`${name}: the contract of a target`, () => {
    let place: TargetPlace;
    let target: Target;

    beforeEach(async () => {
      place = await makePlace();
      target = await place.target(COSINE);
      await target.prepare();
      return async () => target.close();
    });

    const reopen = async (settings: TargetSettings = COSINE): Promise<Awaited<ReturnType<Target['prepare']>>> => {
      await target.close();
      target = await place.target(settings);
      return target.prepare();
    };
    const apply = (...changes: RowChange[]) => place.apply(target, changes);
    const texts = async () => [...(await place.texts()).values()].sort();
    const scanned = async () => (await target.scan('', 1000)).map(({ id, owner }) => [id, owner]);

    describe('rows', () => {
      test('what was written is there, with its owner, in pages by id', async () => {
        await apply(written(row(2, 'b', 'second'), row(3, 'b', 'third')), written(row(1, 'a/x', 'first')));
        expect(await texts()).toEqual(['first', 'second', 'third']);
        expect(await target.scan('', 2)).toEqual([
          { id: hexId(1), owner: 'docs/a%2Fx' },
          { id: hexId(2), owner: 'docs/b' },
        ]);
        expect(await target.scan(hexId(2), 2)).toEqual([{ id: hexId(3), owner: 'docs/b' }]);
        expect(await target.scan(hexId(3), 2)).toEqual([]);
      });

      test('the same change twice leaves the same rows', async () => {
        const rows = written(row(1, 'a', 'one'), row(2, 'a', 'two'));
        await apply(rows);
        await apply(rows, rows);
        expect(await texts()).toEqual(['one', 'two']);
        const next = change('a', { upserts: [row(3, 'a', 'three')], deletes: [hexId(1)] });
        await apply(next);
        await apply(next);
        expect(await texts()).toEqual(['three', 'two']);
      });

      test('a delete of what is not there is no error', async () => {
        await apply(change('a', { deletes: [hexId(9)] }), change('b', { deleteAll: true }));
        expect(await scanned()).toEqual([]);
      });

      test('deleting all of an owner takes what the engine knows nothing of, and spares other owners', async () => {
        await apply(written(row(1, 'a', 'one'), row(2, 'a', 'two')), written(row(3, 'b', 'three')));
        await apply(change('a', { deleteAll: true, upserts: [row(4, 'a', 'four')] }));
        expect(await texts()).toEqual(['four', 'three']);
        await apply(change('a', { deleteAll: true }));
        expect(await scanned()).toEqual([[hexId(3), 'docs/b']]);
      });

      test('an owner that is a prefix of another one is another one', async () => {
        await apply(written(row(1, 'a', 'one')), written(row(2, 'a/b', 'two')), written(row(3, 'ab', 'three')));
        await apply(change('a', { deleteAll: true }));
        expect(await texts()).toEqual(['three', 'two']);
      });

      test('a group of many components is applied whole', async () => {
        const rows = Array.from({ length: 700 }, (_, index) =>
          written(row(index + 1, `file-${index}`, `text ${index}`)),
        );
        await apply(...rows);
        expect((await place.texts()).size).toBe(700);
        await apply(...rows.map(({ owner }) => ({ owner, upserts: [], touches: [], deletes: [], deleteAll: true })));
        expect((await place.texts()).size).toBe(0);
      });

      test('texts and fields of any kind come back as they were', async () => {
        const text = 'quotes " \' \\ and \t tabs, 𝄞 and \u2028 lines\n—';
        const fields = { author: "O'Hara", tags: ['x', 'y'], deep: { n: 1.5, nothing: null } };
        await apply(written(row(1, 'src/ü "x".ts', text, { fields, language: 'typescript' })));
        expect(await texts()).toEqual([text]);
        if (target.search === undefined) return;
        const [hit] = await target.search({ text: 'quotes', limit: 1 });
        expect(hit).toMatchObject({
          source: 'docs',
          key: 'src/ü "x".ts',
          element: { text, fields, language: 'typescript' },
        });
      });

      test('everything is there after the target was closed and opened', async () => {
        await apply(written(row(1, 'a', 'one')));
        const { identity } = target;
        expect(await reopen()).toBe('ready');
        expect(target.identity).toBe(identity);
        expect(await scanned()).toEqual([[hexId(1), 'docs/a']]);
      });
    });

    describe('what is refused', () => {
      const broken: Record<string, Partial<TargetRow['element']>> = {
        'a vector of another width': { vector: new Float32Array(DIMENSIONS + 1) },
        'no vector at all': { vector: undefined } as never,
        'a vector with NaN': { vector: Float32Array.of(1, Number.NaN, 0, 0) },
        'a vector with infinity': { vector: Float32Array.of(1, Number.POSITIVE_INFINITY, 0, 0) },
      };
      const declared = ['a vector of another width', 'no vector at all'];
      for (const [sentence, element] of Object.entries(broken)) {
        if (!abilities.vectors && declared.includes(sentence)) continue;
        test(`a row with ${sentence} is refused by the item's name, before anything of the group is written (F27)`, async () => {
          await apply(written(row(1, 'a', 'old')));
          const bad = written(row(3, 'guilty.ts', 'bad', element));
          await expect(apply(written(row(2, 'b', 'good')), bad)).rejects.toThrow(/docs\/guilty\.ts/);
          expect(await texts()).toEqual(['old']);
        });
      }
    });

    describe('settings', () => {
      test('a target without vectors takes rows without vectors', async () => {
        await target.drop();
        await reopen({});
        await apply(written(row(1, 'a', 'one', { vector: undefined } as never)));
        expect(await texts()).toEqual(['one']);
      });

      test('after a drop nothing is left, and the next prepare makes it anew', async () => {
        await apply(written(row(1, 'a', 'one')));
        const { identity } = target;
        await target.drop();
        await reopen();
        expect(target.identity).not.toBe(identity);
        expect(await scanned()).toEqual([]);
      });

      if (abilities.vectors)
        for (const [sentence, vector] of Object.entries({
          dimensions: { dimensions: 2, metric: 'cosine' as const },
          metric: { dimensions: DIMENSIONS, metric: 'l2' as const },
        })) {
          test(`another ${sentence} is a planned rebuild: the rows are gone and the identity is another one`, async () => {
            await apply(written(row(1, 'a', 'one')));
            const { identity } = target;
            expect(await reopen({ vector })).toBe('rebuilt');
            expect(target.identity).not.toBe(identity);
            expect(await scanned()).toEqual([]);
            await apply(written(row(1, 'a', 'again', { vector: new Float32Array(vector.dimensions).fill(1) })));
            expect(await texts()).toEqual(['again']);
          });
        }

      test('rows of another Pipeline are refused by its name', async () => {
        await apply(written(row(1, 'a', 'one')));
        await expect(reopen({ ...COSINE, pipeline: 'other/pipeline' })).rejects.toThrow(
          /search\/code-index.*other\/pipeline/s,
        );
        await reopen();
        expect(await texts()).toEqual(['one']);
      });
    });

    if (!abilities.shared)
      describe('a state that was lost while the target stayed', () => {
        const lose = () => reopen({ ...COSINE, stateId: 'a new state' });

        test('is adopted: rows stay, a component that is written again loses its old rows, and sweeping takes the unclaimed', async () => {
          await apply(
            written(row(1, 'a', 'old a'), row(2, 'a', 'older a')),
            written(row(3, 'gone', 'orphan')),
            written(row(4, 'b', 'same')),
          );
          expect(await lose()).toBe('adopted');
          expect((await texts()).length).toBe(4);
          await apply(written(row(5, 'a', 'new a')), written(row(4, 'b', 'same')));
          expect(await texts()).toEqual(['new a', 'orphan', 'same']);
          expect(await target.sweep!()).toBe(1);
          expect(await texts()).toEqual(['new a', 'same']);
          await apply(change('a', { upserts: [row(6, 'a', 'newer a')] }));
          expect(await texts(), 'claimed rows are ordinary ones').toEqual(['new a', 'newer a', 'same']);
        });

        test('stays adopted over restarts until it is swept', async () => {
          await apply(written(row(1, 'gone', 'orphan')));
          await lose();
          expect(await lose()).toBe('adopted');
          expect(await target.sweep!()).toBe(1);
          expect(await scanned()).toEqual([]);
          expect(await lose()).toBe('ready');
        });

        test('a removal of an adopted component takes all its rows', async () => {
          await apply(written(row(1, 'a', 'one'), row(2, 'a', 'two')));
          await lose();
          await apply(change('a', { deleteAll: true }));
          expect(await scanned()).toEqual([]);
        });
      });

    if (abilities.vectors)
      describe('vectors', () => {
        test('vectors that rows hold are found by their key, so that equal texts cost no second call', async () => {
          const vector = Float32Array.of(0.25, -0.5, 0.125, 1);
          await apply(written(row(1, 'a', 'one', { vector }), row(2, 'a', 'two')));
          const found = await target.vectors([hexId(1_000_001), hexId(77)]);
          expect([...found]).toEqual([[hexId(1_000_001), vector]]);
          await apply(change('a', { deleteAll: true }));
          expect((await target.vectors([hexId(1_000_001)])).size).toBe(0);
        });

        test('a touch moves place and fields, and keeps text and vector', async () => {
          await apply(written(row(1, 'a', 'one')));
          const place = { startByte: 10, endByte: 13, startLine: 3, endLine: 4 };
          const { vector, vectorKey, ...rest } = row(1, 'a', 'one', { place, fields: { moved: true } }).element;
          await apply(change('a', { touches: [{ ...row(1, 'a', 'one'), element: rest }] }));
          expect((await target.vectors([vectorKey!])).get(vectorKey!)).toEqual(vector);
          const [hit] = (await target.search?.({ text: 'one', vector: along(1), limit: 1 })) ?? [];
          if (hit !== undefined) expect(hit.element).toEqual({ text: 'one', place, fields: { moved: true } });
        });
      });

    if (abilities.search)
      describe('search', () => {
        const keys = async (text: string, vector?: Float32Array, limit = 10) =>
          (await target.search!({ text, limit, ...(vector === undefined ? {} : { vector }) })).map(({ key }) => key);

        beforeEach(async () => {
          await apply(
            written(row(1, 'src/server.ts', 'function createHttpServer() { return listen; }', { vector: along(0) })),
            written(row(2, 'src/client.ts', 'const http_client = connect(server_address);', { vector: along(0, 0.6) })),
            written(row(3, 'docs/guide.md', 'How to listen to changes of a watched folder.', { vector: along(2) })),
          );
        });

        test('the nearest vector comes first', async () => {
          expect((await keys('', along(2)))[0]).toBe('docs/guide.md');
          expect((await keys('', along(0))).slice(0, 2)).toEqual(['src/server.ts', 'src/client.ts']);
        });

        test('words are found whatever their case, and as parts of identifiers', async () => {
          expect(await keys('FOLDER')).toEqual(['docs/guide.md']);
          expect(await keys('createHttpServer')).toContain('src/server.ts');
          expect(await keys('address')).toEqual(['src/client.ts']);
          expect((await keys('http')).sort()).toEqual(['src/client.ts', 'src/server.ts']);
          expect(await keys('guide')).toEqual(['docs/guide.md']);
        });

        test('a row that both halves know stands before rows that one half knows', async () => {
          const hits = await target.search!({ text: 'listen', vector: along(0), limit: 3 });
          expect(hits[0]!.key).toBe('src/server.ts');
          expect(hits[0]!.score).toBeGreaterThan(hits[1]!.score);
        });

        test('whatever people type is words, never a syntax error', async () => {
          const typed = [
            '"',
            "'; DROP TABLE x; --",
            'AND OR NOT NEAR(',
            '* ^ : {a b} -c',
            '\\',
            '%_',
            'a\0b',
            '()!&|<->',
            ' ',
            'x'.repeat(5000),
          ];
          for (const text of typed) await expect(target.search!({ text, limit: 5 })).resolves.toBeDefined();
          expect(await keys('folder" OR (')).toEqual(['docs/guide.md']);
        });

        test('no more hits than wanted, and changed rows are found by their new words only', async () => {
          expect((await keys('http listen', along(0), 1)).length).toBe(1);
          await apply(
            change('docs/guide.md', {
              deletes: [hexId(3)],
              upserts: [row(4, 'docs/guide.md', 'Nothing of that kind.')],
            }),
          );
          expect(await keys('folder')).toEqual([]);
          expect(await keys('kind')).toEqual(['docs/guide.md']);
        });

        test('a vector without direction is stored and never outranks one that has a direction', async () => {
          await apply(written(row(5, 'zero.md', 'zzz', { vector: new Float32Array(DIMENSIONS) })));
          expect((await keys('', along(0)))[0]).toBe('src/server.ts');
        });

        test('a query of another width is refused with both widths', async () => {
          await expect(target.search!({ text: '', vector: new Float32Array(7), limit: 1 })).rejects.toThrow(/7.*4/);
        });

        for (const [metric, want] of Object.entries({ l2: 'near', dot: 'far' })) {
          test(`by ${metric} the ${want} one of two in the same direction comes first`, async () => {
            await target.drop();
            await reopen({ vector: { dimensions: DIMENSIONS, metric: metric as 'l2' | 'dot' } });
            await apply(written(row(1, 'near', 'x', { vector: Float32Array.of(1, 0, 0, 0) })));
            await apply(written(row(2, 'far', 'x', { vector: Float32Array.of(9, 0, 0, 0) })));
            expect((await keys('', Float32Array.of(1, 0, 0, 0)))[0]).toBe(want);
          });
        }
      });
  });
}
