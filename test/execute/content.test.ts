// Content of an item, as steps get it.
import { expect, test } from 'vitest';
import { Content } from '../../runner/execute/content.ts';
import { RunFailure } from '../../runner/execute/failure.ts';
import { StepError } from '../../runner/sdk/index.ts';

const ITEM = { source: 'docs', key: 'model.bin', version: '1' };

/** Content whose reading ends as the source's answer says. */
function contentThat(read: () => Promise<{ version: string; bytes: Uint8Array }>): Content {
  const run = { cancellation: { race: <T>(promise: Promise<T>) => promise, signal: new AbortController().signal } };
  const attempts = { try: (_at: string, _step: string, _retry: unknown, body: () => Promise<unknown>) => body() };
  return new Content(run as never, { read } as never, attempts as never, ITEM);
}

test('an item that the source finds too large is too large for the step, which may skip it', async () => {
  const refused = new RunFailure({ class: 'too-large', message: 'model.bin is too large' });
  const content = contentThat(() => Promise.reject(refused));
  const error = await content.need(10).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StepError);
  expect(error).toMatchObject({ class: 'too-large', message: 'model.bin is too large' });
});

test('so is one that turns out larger than the step reads', async () => {
  const content = contentThat(async () => ({ version: '1', bytes: new Uint8Array(11) }));
  await expect(content.need(10)).rejects.toMatchObject({ name: 'StepError', class: 'too-large' });
});
