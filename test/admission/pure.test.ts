// The room is pure: no time, no chance, no input or output; the same calls give the same answers and the same pictures.
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { snapshotOf, type TreeSnapshot } from '../../operator/inspection/index.ts';
import { World } from './world.ts';

const IMPURE =
  /\b(Date|performance|Math\.random|crypto|setTimeout|setInterval|setImmediate|queueMicrotask|process|console|async|await|Promise|fetch|globalThis)\b/;

describe.for(['admission', 'inspection'])('the room operator/%s', (room) => {
  const files = readdirSync(`operator/${room}`);
  test.for(files)(
    '%s imports only the tree and its own room, and names neither time, chance nor the outside',
    (file) => {
      const code = readFileSync(`operator/${room}/${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      const wanted = room === 'admission' ? /^\.\/[\w-]+\.ts$/ : /^(\.\/[\w-]+\.ts|\.\.\/admission\/index\.ts)$/;
      for (const [, from] of code.matchAll(/from '([^']+)'/g)) expect(from).toMatch(wanted);
      expect(code).not.toMatch(IMPURE);
    },
  );
});

/** Calls drawn from the numbers, with a picture after each. */
function play(numbers: readonly number[]): { readonly order: readonly string[]; readonly pictures: TreeSnapshot[] } {
  const world = new World({ slots: 3, rooms: { cpu: 3, gpu: 1 }, limits: { rows: 6 } });
  const sources = [world.pool, world.source('a', world.pool, 2), world.source('b')];
  const updates = ['u', 'v', 'w', 'x'].map((name, i) => world.update(name, sources[i % 3]!));
  const pictures: TreeSnapshot[] = [];
  for (const [step, number] of numbers.entries()) {
    const flight = world.inFlight();
    const update = updates[number % 4]!;
    const lender = flight.find((run) => run.update === update);
    if (number % 5 < 3 || flight.length === 0)
      world.ask(update, `r${step}`, {
        rows: number % 4,
        runnerClass: number % 3 === 0 ? 'gpu' : 'cpu',
        ...(number % 7 === 0 && { component: `c${number % 2}` }),
        ...(number % 2 === 0 && lender && { lender }),
      });
    else if (number % 5 === 3) world.end(flight[number % flight.length]!);
    else world.took(world.tree.setSlots(1 + (number % 5)));
    pictures.push(snapshotOf(world.tree));
  }
  return { order: world.order(), pictures };
}

test('the same calls give the same grants and the same snapshots, step by step', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 10_000 }), { maxLength: 80 }), (numbers) => {
      expect(play(numbers)).toEqual(play(numbers));
    }),
  );
});
