// T9 and T10: updates of the whole Pipeline beside the cycles of its sources.
import { expect, test } from 'vitest';
import { PipelineTriggers, SourceTriggers } from '../../operator/triggers/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { FakeDoor } from './door.ts';

function pipelineOf() {
  const door = new FakeDoor();
  const pipeline = new PipelineTriggers({ door });
  const source = new SourceTriggers({
    clock: new VirtualClock(0),
    door,
    source: 'docs',
    settings: { mode: 'Refresh' },
  });
  pipeline.add(source);
  return { door, pipeline, source };
}
const kinds = (door: FakeDoor) => door.started.map(({ kind }) => kind);

test('T9: the next cycle lists after an edit entered its work, and does not wait for the processing', () => {
  const { door, pipeline, source } = pipelineOf();
  pipeline.want({ trigger: 'edit' });
  source.start();
  expect(kinds(door)).toEqual(['pipeline']);
  door.endListing(0);
  expect(kinds(door)).toEqual(['pipeline', 'cycle']);
});

test('T9: an update of the Pipeline that fails before it entered its work does not hold cycles back', () => {
  const { door, pipeline, source } = pipelineOf();
  pipeline.want({ trigger: 'edit' });
  source.start();
  door.end(0, { kind: 'cancelled', why: 'asked to' });
  expect(kinds(door)).toEqual(['pipeline', 'cycle']);
});

test('T10: edits that come while one enters its work are joined into one more', () => {
  const { door, pipeline } = pipelineOf();
  pipeline.want({ trigger: 'edit' });
  for (let i = 0; i < 10; i++) pipeline.want({ trigger: 'edit', reprocess: i === 4 });
  expect(kinds(door)).toEqual(['pipeline']);
  door.endListing(0);
  expect(door.started.slice(1)).toMatchObject([{ kind: 'pipeline', trigger: 'edit', reprocess: true }]);
  door.endListing(1);
  expect(kinds(door)).toEqual(['pipeline', 'pipeline']);
});
