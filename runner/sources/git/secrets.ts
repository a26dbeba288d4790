// Lends a git process what it needs to prove who it is, as files that only this user may read and that are gone afterwards.
//   C1. A password reaches git by its own store of credentials, which hands it only to the host and protocol that it belongs to, also
//       after a redirect. It is in no argument, no variable, no address and no message.
//   C2. Host keys are always checked for ssh.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../folders.ts';
import { StepError } from '../../sdk/index.ts';
import { type ReadSecret, Secrets } from '../../secrets.ts';
import type { GitAuth } from '../common/spec.ts';
import type { GitContext } from './process.ts';

export type GitLogin = GitAuth & { readonly username: string };

export interface Lender {
  readonly cacheDir: string;
  readonly secret: ReadSecret;
}

type Loan = Pick<GitContext, 'config' | 'env' | 'hide'>;

/** Runs `body` with what git needs for `url`. The secrets are read anew each time, so that a rotated one is picked up. */
export async function withLogin<T>(
  url: string,
  login: GitLogin,
  lender: Lender,
  body: (loan: Loan) => Promise<T>,
): Promise<T> {
  const needsFiles =
    login.tokenFrom !== undefined || login.sshKeyFrom !== undefined || login.knownHostsFrom !== undefined;
  if (!needsFiles) return await body({});
  makeFolder(lender.cacheDir);
  const folder = await mkdtemp(join(lender.cacheDir, 'login-'));
  try {
    await chmod(folder, 0o700);
    const secrets = new Secrets(lender.secret);
    const token = login.tokenFrom && (await secrets.read(login.tokenFrom)).trim();
    const store = join(folder, 'credentials');
    if (token !== undefined) await writeFile(store, `${credentialLine(url, login.username, token)}\n`, { mode: 0o600 });
    const env = { GIT_SSH_COMMAND: await sshCommand(folder, login, secrets) };
    const { hide } = secrets;
    return await body(token === undefined ? { env, hide } : { env, hide, config: storeConfig(store) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Only this store: what other helpers of the machine know does not belong to this source. */
const storeConfig = (file: string): NonNullable<Loan['config']> => [
  ['credential.helper', ''],
  ['credential.helper', `store --file=${quoted(file)}`],
];

/** Line of git's store of credentials: an address that holds the password, for its host only. */
function credentialLine(url: string, username: string, token: string): string {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new StepError('invalid', 'git.auth.tokenFrom goes with an https address; ssh takes git.auth.sshKeyFrom');
  const { protocol, host, username: named } = new URL(url);
  return `${protocol}//${encodeURIComponent(named === '' ? username : decodeURIComponent(named))}:${encodeURIComponent(token)}@${host}`;
}

async function sshCommand(folder: string, login: GitLogin, secrets: Secrets): Promise<string> {
  const options = ['-o BatchMode=yes', '-o ConnectTimeout=30', '-o StrictHostKeyChecking=yes'];
  if (login.sshKeyFrom !== undefined) {
    const key = (await secrets.read(login.sshKeyFrom)).trim();
    await writeFile(join(folder, 'key'), `${key}\n`, { mode: 0o600 });
    options.push('-F none', '-o IdentitiesOnly=yes', `-i ${quoted(join(folder, 'key'))}`);
  }
  if (login.knownHostsFrom !== undefined) {
    await writeFile(join(folder, 'known_hosts'), `${(await secrets.read(login.knownHostsFrom)).trim()}\n`, {
      mode: 0o600,
    });
    options.push(`-o ${quoted(`UserKnownHostsFile="${join(folder, 'known_hosts')}"`)}`);
  }
  return `ssh ${options.join(' ')}`;
}

/** Git reads these settings as words of a command line; only paths of our own making are in them. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** By which git says that the server does not know who asks; it has no code for it. */
const NOT_LET_IN =
  /terminal prompts disabled|Authentication failed|Permission denied|Access denied|returned error: 40[13]/;

/** What to do where git was not let in; empty for any other trouble. */
export function loginAdvice(said: string, { tokenFrom, sshKeyFrom }: GitLogin): string {
  if (!NOT_LET_IN.test(said)) return '';
  const isNobody = tokenFrom === undefined && sshKeyFrom === undefined;
  return isNobody
    ? ' (it wants to know who asks: set git.auth.tokenFrom for https, git.auth.sshKeyFrom for ssh)'
    : ' (look whether it still takes what git.auth names)';
}
