// Loads modules of users: TypeScript or JavaScript as Node runs it, nothing is built.
//   D1. `fairlead/sdk` is this program's own SDK, wherever the module lies and whatever is installed beside it: errors and runs are the same ones.
//   D2. A module's identity is the content of its file and of the files that it imports by path, each with its place relative to the module.
//       Packages are not part of it.
//   D3. Every opening loads the files anew, so that an edit is seen by a process that stays.
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { basename, dirname, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { UserFunction, UserModule } from '../../execute/index.ts';
import { StepError } from '../../sdk/index.ts';
import { workerUrl } from '../../worker-url.ts';

const SDK = 'fairlead/sdk';
/** Marks the files of one opening; part of their URLs. */
const MARK = 'fairlead';

export class ModuleLoader {
  readonly #hooks: { deregister(): void };
  /** Files of each opening, by its mark. */
  readonly #files = new Map<string, Set<string>>();

  constructor() {
    const sdk = workerUrl(import.meta.url, '../../sdk/user.ts', 'sdk').href;
    this.#hooks = registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === SDK) return next(sdk, context);
        const resolved = next(specifier, context);
        const files = this.#filesOf(context.parentURL);
        if (files === undefined || !isOwnFile(specifier, resolved.url)) return resolved;
        const url = new URL(resolved.url);
        files.add(fileURLToPath(url));
        url.searchParams.set(MARK, markOf(context.parentURL) ?? '');
        return { ...resolved, url: url.href };
      },
    });
  }

  /** Throws StepError (`invalid`) where the file is no module or lacks the function. */
  async open(path: string, entry: string): Promise<UserModule> {
    const mark = randomUUID();
    const files = new Set([path]);
    this.#files.set(mark, files);
    const exported = await load(path, mark);
    if (typeof exported[entry] !== 'function') {
      throw new StepError('invalid', `module: ${path} exports no function "${entry}"${namesIn(exported)}`);
    }
    return new LoadedModule(path, await identityOf(path, files), exported, mark);
  }

  close(): void {
    this.#hooks.deregister();
  }

  #filesOf(parent: string | undefined): Set<string> | undefined {
    const mark = markOf(parent);
    return mark === undefined ? undefined : this.#files.get(mark);
  }
}

class LoadedModule implements UserModule {
  readonly name: string;
  readonly identity: string;
  readonly #exported: Exported;
  readonly #names = new Map<unknown, string>();
  readonly #folder: string;
  readonly #mark: string;

  constructor(path: string, identity: string, exported: Exported, mark: string) {
    this.name = basename(path);
    this.identity = identity;
    this.#exported = exported;
    this.#folder = dirname(path);
    this.#mark = mark;
    for (const [name, value] of Object.entries(exported)) {
      if (typeof value === 'function' && !this.#names.has(value)) this.#names.set(value, name);
    }
  }

  find(name: string): UserFunction | undefined {
    const value = Object.hasOwn(this.#exported, name) ? this.#exported[name] : undefined;
    return typeof value === 'function' ? (value as UserFunction) : undefined;
  }

  nameOf(exported: unknown): string | undefined {
    return this.#names.get(exported);
  }

  framesOf(stack: string): readonly string[] {
    const folder = `${pathToFileURL(this.#folder).href}/`;
    return stack
      .split('\n')
      .filter((line) => line.includes(this.#mark))
      .map((line) => line.trim().replace(/^at /, '').replaceAll(`?${MARK}=${this.#mark}`, '').replaceAll(folder, ''))
      .slice(0, FRAMES_MAX);
  }
}

const FRAMES_MAX = 6;

type Exported = { readonly [name: string]: unknown };

async function load(path: string, mark: string): Promise<Exported> {
  const url = pathToFileURL(path);
  url.searchParams.set(MARK, mark);
  try {
    return (await import(url.href)) as Exported;
  } catch (cause) {
    if (cause instanceof StepError) throw cause;
    const why = cause instanceof Error ? cause.message.replaceAll(`?${MARK}=${mark}`, '') : String(cause);
    throw new StepError('invalid', `module: ${path} cannot be loaded: ${why}`, { cause });
  }
}

/** Hash over the files, in the order of their names. */
async function identityOf(path: string, files: ReadonlySet<string>): Promise<string> {
  const hash = createHash('sha256');
  const folder = dirname(path);
  const named = [...files].map((file) => ({ file, name: relative(folder, file) }));
  for (const { file, name } of named.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const content = createHash('sha256').update(await readFile(file));
    hash.update(`${name}\n${content.digest('hex')}\n`);
  }
  return `module ${hash.digest('hex').slice(0, 32)}`;
}

const markOf = (url: string | undefined): string | undefined =>
  url?.startsWith('file:') === true ? (new URL(url).searchParams.get(MARK) ?? undefined) : undefined;

/** Imported by path, not as a package. */
const isOwnFile = (specifier: string, url: string): boolean =>
  /^(\.|\/|#|file:)/.test(specifier) && url.startsWith('file:');

function namesIn(exported: Exported): string {
  const names = Object.keys(exported).filter((name) => typeof exported[name] === 'function');
  return names.length === 0 ? '' : `; it exports ${names.join(', ')}`;
}

/** The file that a spec names. */
export const modulePath = (baseDir: string, path: string): string => resolve(baseDir, path);
