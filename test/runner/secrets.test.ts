// What hides secrets in texts that leave a process: H1 to H4 of runner/secrets.ts, form by form, and for any value by chance.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hiddenIn, namesSecret, Secrets } from '../../runner/secrets.ts';

const TOKEN = 'p/l+a n"t&ed-7f3';
const KEY = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'a1B2'.repeat(15)}\n${'c3D4'.repeat(10)}\n-----END OPENSSH PRIVATE KEY-----\n`;

const knowing = async (...values: string[]): Promise<Secrets> => {
  const secrets = new Secrets(async ({ env }) => env ?? '');
  for (const env of values) await secrets.read({ env });
  return secrets;
};
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

interface Case {
  readonly value: string;
  readonly said: string;
  /** What must not be left of it. */
  readonly never: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'as it is': { value: TOKEN, said: `the token ${TOKEN} was refused`, never: TOKEN },
  'with the line break of its file': { value: `${TOKEN}\n`, said: `token=${TOKEN};`, never: TOKEN },
  'in an address': {
    value: TOKEN,
    said: `https://x/?key=${encodeURIComponent(TOKEN)}`,
    never: encodeURIComponent(TOKEN),
  },
  'in an answer in JSON': {
    value: TOKEN,
    said: JSON.stringify({ token: TOKEN }),
    never: JSON.stringify(TOKEN).slice(1, -1),
  },
  'as a Bearer': { value: TOKEN, said: `authorization: Bearer ${TOKEN}`, never: TOKEN },
  'as Basic authorization of a short name': { value: TOKEN, said: basic('me', TOKEN), never: basic('me', TOKEN) },
  'as Basic authorization of a longer name': { value: TOKEN, said: basic('them', TOKEN), never: basic('them', TOKEN) },
  'as Basic authorization of the longest name': {
    value: TOKEN,
    said: basic('users', TOKEN),
    never: basic('users', TOKEN),
  },
  'a line of a key': { value: KEY, said: `bad key: ${KEY.split('\n')[2]}`, never: 'c3D4' },
  'the password of an address': {
    value: 'postgres://index:s3cr%40t-word@db/index',
    said: 'password "s3cr@t-word" of user index',
    never: 's3cr@t-word',
  },
  'the password of an address, as it stands there': {
    value: 'postgres://index:s3cr%40t-word@db/index',
    said: 'cannot parse index:s3cr%40t-word@db',
    never: 's3cr%40t-word',
  },
};

describe('a secret that was read is hidden', () => {
  for (const [name, { value, said, never }] of Object.entries(CASES))
    test(name, async () => {
      const { hide } = await knowing(value);
      expect(hide(said)).not.toContain(never);
      expect(hide(said)).toContain('***');
    });

  test('whatever it is and wherever it stands', async () => {
    const words = fc.string({ minLength: 6, maxLength: 40, unit: 'binary' }).filter((text) => text.trim().length >= 6);
    await fc.assert(
      fc.asyncProperty(
        words,
        fc.string({ maxLength: 30 }),
        fc.string({ maxLength: 30 }),
        async (value, before, after) => {
          const { hide } = await knowing(value);
          expect(hide(`${before}${value}${after}`)).not.toContain(value);
          expect(hide(JSON.stringify({ [before]: value }))).not.toContain(JSON.stringify(value).slice(1, -1));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a value that was renewed is hidden as well as the one before it', async () => {
    const { hide } = await knowing('first-value', 'second-value');
    expect(hide('first-value and second-value')).toBe('*** and ***');
  });

  test('one value within another leaves nothing of the longer one', async () => {
    const { hide } = await knowing('harbour', 'harbour-master');
    expect(hide('harbour-master')).toBe('***');
  });
});

test('H4: what is too short to be a secret takes no letters out of texts', async () => {
  const { hide } = await knowing('a', 'ab', ' abc ');
  expect(hide('a cabin for abc')).toBe('a cabin for abc');
});

test('variables are known by their names', async () => {
  const secrets = await knowing();
  secrets.rememberVariables({ HF_TOKEN: 'hub-7f3', OPENAI_API_KEY: 'key-7f3', HOME: '/home/me', TOKENS: undefined });
  expect(secrets.hide('hub-7f3 key-7f3 /home/me')).toBe('*** *** /home/me');
  expect(['authorization', 'X-Api-Key', 'cookie'].every(namesSecret)).toBe(true);
  expect(['content-type', 'PATH', 'accept'].some(namesSecret)).toBe(false);
});

test('an error keeps its kind and its place, and loses the secret in message and stack', async () => {
  const { hide } = await knowing('planted-value');
  const error = hiddenIn(new TypeError('no planted-value here'), hide);
  expect(error).toBeInstanceOf(TypeError);
  expect(`${error.message} ${error.stack}`).not.toContain('planted-value');
  expect(error.stack).toContain('secrets.test.ts');
});
