// The step `extract` against real HTTP servers: the offline one of `fairlead embed-server`, and one whose answers are scripted.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startEmbedServer } from '../../cli/embed-server/index.ts';
import { systemClock } from '../../runner/clock.ts';
import type { Step } from '../../runner/execute/index.ts';
import { contextOf, openHost, stepSpec, type TestContext } from './support.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const SCHEMA = {
  type: 'object',
  properties: { title: { type: 'string' }, kind: { enum: ['guide', 'reference'] } },
  required: ['title', 'kind'],
  additionalProperties: false,
};

async function open(url: string, extract: object = {}): Promise<Step> {
  const openai = { url, model: 'test' };
  const spec = stepSpec({ extract: { openai, instructions: 'Name the document.', schema: SCHEMA, ...extract } });
  const step = await openHost().openStep(spec);
  ends.push(() => step.close());
  return step;
}

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly [name: string]: unknown;
}

/** What the scripted server answers: a status with an error, or the content of a message. */
type Script = (
  asked: Asked,
  count: number,
) => string | { readonly status: number; readonly message: string } | { readonly cut: string };

async function scripted(script: Script): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    asked.push(JSON.parse(Buffer.concat(parts).toString()));
    const answer = script(asked.at(-1)!, asked.length);
    if (typeof answer === 'object' && 'status' in answer) {
      response.writeHead(answer.status).end(JSON.stringify({ error: { message: answer.message } }));
      return;
    }
    const isCut = typeof answer === 'object';
    const message = { role: 'assistant', content: isCut ? answer.cut : answer };
    response.end(JSON.stringify({ choices: [{ message, finish_reason: isCut ? 'length' : 'stop' }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

const GOOD = '{"title": "Setup", "kind": "guide"}';
const run = (step: Step, texts: readonly string[], context: TestContext = contextOf('a.md')) =>
  step.run(
    texts.map((text) => ({ text, fields: { from: 'docs' } })),
    context,
  );

test('the facts become fields beside those that the element has, and the element keeps its text', async () => {
  const server = await startEmbedServer({ clock: systemClock, model: 'test', embedAll: async () => [] });
  ends.push(() => server.close());
  const step = await open(server.url);
  expect(await run(step, ['Setup\nHow to begin.'])).toEqual([
    { text: 'Setup\nHow to begin.', fields: { from: 'docs', title: 'Setup', kind: 'guide' } },
  ]);
});

test('the server is told the instructions, the schema and the text, and equal text is asked for once', async () => {
  const { url, asked } = await scripted(() => GOOD);
  const step = await open(url);
  const context = contextOf('a.md');
  await run(step, ['text'], context);
  await run(step, ['text'], contextOf('b.md', '', { remembered: context.remembered }));
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({
    model: 'test',
    max_tokens: 1024,
    response_format: { type: 'json_schema', json_schema: { schema: SCHEMA } },
    messages: [
      { role: 'system', content: expect.stringContaining('Name the document.') },
      { role: 'user', content: 'text' },
    ],
  });
});

test('an answer that does not fit goes back with what is wrong, and a fence around the object is no fault', async () => {
  const { url, asked } = await scripted((_, count) =>
    count === 1 ? '{"title": 7}' : `Here:\n\`\`\`json\n${GOOD}\n\`\`\``,
  );
  const step = await open(url);
  expect((await run(step, ['text']))[0]?.fields).toMatchObject({ title: 'Setup' });
  expect(asked[1]?.messages.at(-1)?.content).toMatch(/does not fit the schema:[\s\S]*title[\s\S]*kind/);
});

test('after three answers that do not fit the element fails, and nothing is remembered', async () => {
  const { url, asked } = await scripted(() => 'I cannot say.');
  const context = contextOf('a.md');
  await expect(run(await open(url), ['text'], context)).rejects.toMatchObject({
    class: 'invalid',
    message: expect.stringContaining('none of 3 answers fits the schema'),
  });
  expect(asked).toHaveLength(3);
  expect(context.remembered.size).toBe(0);
});

test('an answer that was cut off says which setting to raise', async () => {
  const { url } = await scripted(() => ({ cut: '{"title": "Se' }));
  await expect(run(await open(url), ['text'])).rejects.toThrow('raise extract.maxOutputTokens');
});

test('a server without structured answers, or with another name for the token limit, is met half way', async () => {
  const refusals: { readonly [member: string]: string } = {
    json_schema: 'response_format json_schema is not supported',
    max_tokens: "use 'max_completion_tokens' instead",
  };
  const { url, asked } = await scripted((body) => {
    const refused = Object.keys(refusals).find((member) =>
      JSON.stringify({ ...body, messages: [] }).includes(`"${member}"`),
    );
    return refused === undefined ? GOOD : { status: 400, message: refusals[refused]! };
  });
  const step = await open(url);
  expect((await run(step, ['one']))[0]?.fields).toMatchObject({ title: 'Setup' });
  const before = asked.length;
  await run(step, ['two']);
  expect(asked.length - before).toBe(1);
  expect(asked.at(-1)).toMatchObject({ max_completion_tokens: 1024, response_format: { type: 'json_object' } });
});

test('one element that fails does not take the answers to the others with it', async () => {
  const { url, asked } = await scripted(({ messages }) =>
    messages[1]?.content === 'bad' ? { status: 400, message: 'no' } : GOOD,
  );
  const step = await open(url);
  const context = contextOf('a.md');
  await expect(run(step, ['one', 'bad', 'two'], context)).rejects.toMatchObject({ class: 'invalid' });
  expect(context.remembered.size).toBe(2);
  const before = asked.length;
  await run(step, ['one', 'two'], contextOf('a.md', '', { remembered: context.remembered }));
  expect(asked.length).toBe(before);
});

test('a schema whose answers could not become fields is refused at once', async () => {
  await expect(open('http://127.0.0.1:1/v1', { schema: { type: 'array' } })).rejects.toThrow('must have type: object');
});
