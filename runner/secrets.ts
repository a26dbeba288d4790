// Secret values that this process has read, so that no text that leaves it shows one.
//   H1. Values come through `read`, which remembers them before anybody can use them.
//   H2. Hidden are a value as it is and without blanks around it, its lines, the password of an address, and each of these in addresses, in JSON
//       and in base64, as `Basic` authorization has it.
//   H3. A text is hidden before it is cut: half a secret is recognised by nobody.
//   H4. What is shorter than SHORTEST is no secret: hiding it would take letters out of every text.

/** Reference to a secret value, as it stands in a spec. */
export interface SecretFrom {
  readonly secretKeyRef?: { readonly name: string; readonly key: string } | undefined;
  readonly env?: string | undefined;
}

/** Value of a secret, read anew at each use. Throws a message for people that names the reference, never the value. */
export type ReadSecret = (from: SecretFrom) => Promise<string>;

/** Takes secrets out of a text. */
export type Hide = (text: string) => string;

const SHORTEST = 4;
/** Lines of keys and certificates; shorter ones are words. */
const SHORTEST_LINE = 20;
/** Values that are remembered: each secret of a Pipeline, and what it was before it was renewed. */
const VALUES_MAX = 1_000;
const HIDDEN = '***';

export class Secrets {
  readonly #read: ReadSecret;
  readonly #values = new Set<string>();
  #pattern: RegExp | undefined;

  constructor(read: ReadSecret) {
    this.#read = read;
  }

  /** H1. */
  readonly read: ReadSecret = async (from) => {
    const value = await this.#read(from);
    this.remember(value);
    return value;
  };

  /** A secret that did not come through `read`. */
  remember(value: string): void {
    if (this.#values.has(value) || value.trim().length < SHORTEST) return;
    this.#values.add(value);
    const [oldest] = this.#values;
    if (this.#values.size > VALUES_MAX && oldest !== undefined) this.#values.delete(oldest);
    this.#pattern = undefined;
  }

  /** Remembers variables whose names say that they hold a secret: programs print their environment. */
  rememberVariables(environment: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(environment))
      if (value !== undefined && namesSecret(name)) this.remember(value);
  }

  readonly hide: Hide = (text) => {
    if (this.#values.size === 0) return text;
    this.#pattern ??= patternOf([...this.#values].flatMap(formsOf));
    return text.replace(this.#pattern, HIDDEN);
  };
}

/** The same error, without secrets in its words. */
export function hiddenIn<T>(thrown: T, hide: Hide): T {
  if (thrown instanceof Error) {
    thrown.message = hide(thrown.message);
    if (thrown.stack !== undefined) thrown.stack = hide(thrown.stack);
  }
  return thrown;
}

/** Whether a variable or a header of this name holds a secret. */
export const namesSecret = (name: string): boolean =>
  /token|secret|password|passwd|credential|authorization|cookie|api[-_]?key|access[-_]?key|private[-_]?key/i.test(name);

/** Longer forms first, so that no part of one is left over. */
function patternOf(forms: readonly string[]): RegExp {
  const sorted = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return new RegExp(sorted.map((form) => RegExp.escape(form)).join('|'), 'g');
}

/** H2. */
function formsOf(value: string): string[] {
  const trimmed = value.trim();
  const lines = trimmed.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE);
  const plain = [value, trimmed, ...lines, ...passwordsOf(trimmed)];
  return plain.flatMap((text) => [text, ...escaped(text)]).filter((form) => form.length >= SHORTEST);
}

function escaped(text: string): string[] {
  return [encodeURIComponent(text), encodeURI(text), JSON.stringify(text).slice(1, -1), ...base64Of(text)];
}

/** As it stands in base64, wherever it begins in the groups of three bytes; without the letters that depend on what is around it. */
function base64Of(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });
}

/** Of an address such as that of a database: as it is written there and as it is sent. */
function passwordsOf(text: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return [];
  const { password } = new URL(text);
  return [password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
