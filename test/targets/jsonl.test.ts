// The JSON Lines target passes the contract (without search and vectors), and its file is whole and repeatable.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { JsonlTarget } from '../../runner/targets/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { change, hexId, row, written } from './build.ts';
import { type TargetSettings, targetContract } from './contract.ts';

const newPath = (): string => join(temporaryFolder(), 'rows.jsonl');

interface Line {
  readonly id: string;
  readonly text: string;
}

const linesOf = (path: string): Line[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

function make(
  path: string,
  settings: TargetSettings & { readonly readOnly?: boolean } = {},
  clock = new VirtualClock(),
) {
  const { vector: _, ...rest } = settings;
  return new JsonlTarget({ name: 'rows', path, clock, pipeline: 'search/code-index', stateId: 'the state', ...rest });
}

targetContract('JSON Lines', { search: false, vectors: false, shared: false }, async () => {
  const path = newPath();
  const clock = new VirtualClock();
  return {
    target: async (settings) => make(path, settings, clock),
    apply: (target, changes) => target.apply(changes),
    texts: async () => {
      clock.advance(1000);
      return new Map(linesOf(path).map(({ id, text }) => [id, text]));
    },
  };
});

describe('the file of JSON Lines', () => {
  test('is the same, byte for byte, whatever the order and the history of the changes', async () => {
    const [one, two] = [newPath(), newPath()];
    const first = make(one);
    await first.prepare();
    await first.apply([written(row(1, 'b', 'one'), row(2, 'b', 'two')), written(row(3, 'a', 'three'))]);
    await first.close();
    const second = make(two);
    await second.prepare();
    await second.apply([written(row(9, 'c', 'gone')), written(row(3, 'a', 'old'))]);
    await second.apply([change('c', { deleteAll: true }), written(row(2, 'b', 'two'))]);
    await second.apply([written(row(3, 'a', 'three')), written(row(1, 'b', 'one'))]);
    await second.close();
    expect(readFileSync(two)).toEqual(readFileSync(one));
    expect(linesOf(one).map(({ text }) => text)).toEqual(['three', 'one', 'two']);
  });

  test('follows when changes pause, and holds vectors as numbers', async () => {
    const [path, clock] = [newPath(), new VirtualClock()];
    const target = make(path, {}, clock);
    await target.prepare();
    expect(readFileSync(path, 'utf8')).toBe('');
    await target.apply([written(row(1, 'a', 'one', { vector: Float32Array.of(1, 0.5) }))]);
    expect(readFileSync(path, 'utf8')).toBe('');
    clock.advance(500);
    expect(linesOf(path)).toMatchObject([{ id: hexId(1), source: 'docs', key: 'a', text: 'one', vector: [1, 0.5] }]);
    await target.close();
  });

  test('a touch without a vector keeps the vector', async () => {
    const path = newPath();
    const target = make(path);
    await target.prepare();
    await target.apply([written(row(1, 'a', 'one', { vector: Float32Array.of(1, 0.5) }))]);
    const { vector: _, ...element } = row(1, 'a', 'one', { fields: { moved: true } }).element;
    await target.apply([change('a', { touches: [{ ...row(1, 'a', 'one'), element }] })]);
    await target.close();
    expect(linesOf(path)).toMatchObject([{ fields: { moved: true }, vector: [1, 0.5] }]);
  });

  test('what was applied is in the file of the next process, though this one never wrote it', async () => {
    const path = newPath();
    const dies = make(path);
    await dies.prepare();
    await dies.apply([written(row(1, 'a', 'one'))]);
    const next = make(path);
    await next.prepare();
    expect(linesOf(path).map(({ text }) => text)).toEqual(['one']);
    await next.close();
  });

  test('a scan sees the file that people read: lines that were taken out, changed or slipped in, and a file that is gone', async () => {
    const path = newPath();
    const target = make(path);
    await target.prepare();
    await target.apply([written(row(1, 'a', 'one'), row(2, 'a', 'two'), row(3, 'b', 'three'))]);
    await target.close();
    const scanned = async () => {
      const looking = make(path, { readOnly: true });
      await looking.prepare();
      const rows = await looking.scan('', 10);
      await looking.close();
      return rows.map(({ id }) => id);
    };
    const whole = readFileSync(path, 'utf8');
    expect(await scanned()).toEqual([hexId(1), hexId(2), hexId(3)]);
    writeFileSync(path, whole.replace('two', 'too'));
    expect(await scanned()).toEqual([hexId(1), hexId(3)]);
    writeFileSync(path, whole.slice(0, whole.indexOf('three')));
    expect(await scanned()).toEqual([hexId(1), hexId(2)]);
    writeFileSync(path, `${whole}{"id":"${hexId(4)}","owner":"c"}\nnot JSON\n`);
    expect(await scanned()).toEqual([hexId(1), hexId(2), hexId(3), hexId(4)]);
    rmSync(path);
    expect(await scanned()).toEqual([]);
  });

  test('a scan beside the process that is about to write the file sees what it will write', async () => {
    const path = newPath();
    const target = make(path);
    await target.prepare();
    await target.apply([written(row(1, 'a', 'one'))]);
    const looking = make(path, { readOnly: true });
    await looking.prepare();
    expect(readFileSync(path, 'utf8')).toBe('');
    expect(await looking.scan('', 10)).toMatchObject([{ id: hexId(1) }]);
    await looking.close();
    await target.close();
  });

  test('a file that Fairlead did not write is refused and left alone; one whose index was lost is written anew', async () => {
    const path = newPath();
    writeFileSync(path, '{"mine": true}\n');
    await expect(make(path).prepare()).rejects.toThrow(/rows\.jsonl was not written by Fairlead/);
    expect(readFileSync(path, 'utf8')).toBe('{"mine": true}\n');
    writeFileSync(path, `{"id":"${hexId(1)}","source":"docs","key":"a","owner":"docs/a","text":"lost"}\n`);
    const target = make(path);
    await target.prepare();
    expect(readFileSync(path, 'utf8')).toBe('');
    await target.drop();
    expect(existsSync(path)).toBe(false);
  });
});
