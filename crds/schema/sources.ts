// Sources: what a LiveSource watches. Exactly one kind.
import type { z } from 'zod';
import {
  bytes,
  choice,
  duration,
  exactlyOne,
  flag,
  headers,
  int,
  list,
  object,
  patterned,
  text,
  worded,
} from './fields.ts';
import { and, bothOrNeither, has, implies, is, matches, not, type Rule } from './rules.ts';
import { httpUrl, secretFrom } from './secrets.ts';

const globs = (description: string) => list(description, text('A glob, such as src/**/*.ts.', 1024), 0, 256).optional();
const filters = (of: string) => ({
  include: globs(`Globs of ${of} that are taken. Absent or empty: all.`),
  exclude: globs(`Globs of ${of} that are left out, even if included. Absent: none.`),
});

const git = object(
  'A git repository at one ref. Items are files, their versions are blob hashes.',
  {
    url: worded(
      'Repository: https, ssh or file address, user@host:path, or a folder on this machine.',
      2048,
      /^(https?:\/\/|ssh:\/\/|git:\/\/|file:\/\/|\/|\.|[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:)/,
      'must be an https, ssh or file address, user@host:path, or a folder (starting with / or .)',
    ),
    ref: worded(
      'Branch, tag or commit. Absent: the default branch.',
      255,
      /^[A-Za-z0-9_][-A-Za-z0-9_./@+]*$/,
      'must be a branch, tag or commit: letters, digits and . _ / @ + -, not starting with a sign',
    ).optional(),
    path: text('Folder within the repository. Absent: all of it.', 4096).optional(),
    ...filters('paths'),
    worktree: flag(
      'Whether the files of a checkout on this machine are read as they lie there, edits that are not committed included. Only for a folder as url, without ref. Default false.',
    ),
    depth: int('Commits that are fetched. Absent: 1, and more where the server wants it.', 1, 1_000_000).optional(),
    pollInterval: duration(
      'Watch: how often the ref is asked for. Go duration. Absent: 30s for an address; a folder on this machine is watched by file events.',
      '1s',
      '24h',
    ).optional(),
    auth: object('How to prove who one is. Absent: as nobody.', {
      username: text('User name for https. Default git.').default('git'),
      tokenFrom: secretFrom('Token or password for https. Absent: none.').optional(),
      sshKeyFrom: secretFrom('Private key for ssh. Absent: none.').optional(),
      knownHostsFrom: secretFrom(
        'Host keys for ssh, in the form of known_hosts. Absent: those of the runner image.',
      ).optional(),
    }).optional(),
  },
  {
    holds: implies(is('self.worktree', true), and(not(has('self.ref')), matches('self.url', /^[./]/))),
    message: 'worktree needs a folder as url, and no ref',
    fieldPath: '.worktree',
  },
).optional();

const directory = object('A folder. Items are files; versions come from size, times and inode.', {
  path: text(
    'Folder: absolute, or relative to the working directory of the runner (on one machine, to the YAML file).',
    4096,
  ),
  ...filters('paths'),
  gitignore: flag('Whether .gitignore files are honoured. Default false.'),
  symlinks: choice(
    'Symbolic links: Ignore leaves them out, FollowInside follows those that lead to something in the folder, Follow follows all. Default Ignore.',
    'Ignore',
    'FollowInside',
    'Follow',
  ).default('Ignore'),
  pollInterval: duration(
    'Watch: compare the tree at this interval instead of by file events, for network volumes. Go duration. Absent: file events.',
    '100ms',
    '24h',
  ).optional(),
}).optional();

const s3 = object(
  'Objects of a bucket that speaks S3. Versions are ETags.',
  {
    bucket: patterned(
      'Name of the bucket.',
      63,
      /^[a-z0-9][-.a-z0-9]+$/,
      'must be lower case letters, digits, - and .',
    ),
    prefix: text('Only keys that start with this. Absent: all.', 1024).optional(),
    region: patterned(
      'Region. Default us-east-1.',
      63,
      /^[a-z0-9-]+$/,
      'must be lower case letters, digits and -',
    ).default('us-east-1'),
    endpoint: httpUrl('Address of another server than that of AWS, such as http://minio:9000. Absent: AWS.').optional(),
    pathStyle: flag('Whether the bucket stands in the path, as most other servers want. Default false.'),
    ...filters('keys'),
    accessKeyIdFrom: secretFrom('Access key. Absent: what the runner pod is allowed by its own identity.').optional(),
    secretAccessKeyFrom: secretFrom('Secret of the access key. Set together with accessKeyIdFrom.').optional(),
  },
  {
    holds: bothOrNeither('self.accessKeyIdFrom', 'self.secretAccessKeyFrom'),
    message: 'accessKeyIdFrom and secretAccessKeyFrom must be set together',
    fieldPath: '.accessKeyIdFrom',
  },
).optional();

const http = exactlyOne(
  'Pages of a web site, fetched with conditional requests. Exactly one of sitemap and list.',
  {
    sitemap: httpUrl('Address of a sitemap, or of an index of sitemaps.').optional(),
    list: list('Addresses of the pages.', httpUrl('Address of a page.'), 1, 1000).optional(),
  },
  {
    ...filters('addresses'),
    headers: headers('Further headers of each request, by name. Not for secrets. Absent: none.').optional(),
    tokenFrom: secretFrom('Bearer token. Absent: none is sent.').optional(),
    concurrency: int('Most requests at once. Default 4.', 1, 256).default(4),
    ignoreRobots: flag('Whether robots.txt is ignored. Default false: it is honoured.'),
  },
).optional();

const column = (description: string) =>
  patterned(description, 63, /^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _, not starting with a digit');

const postgres = object('Rows of a Postgres table. Items are rows.', {
  urlFrom: secretFrom('Address of the database, such as postgres://user:password@host:5432/db.'),
  schema: column('Schema of the table. Default public.').default('public'),
  table: column('Table or view.'),
  key: list('Columns that identify a row.', column('A column.'), 1, 8),
  content: column('Column with the text or bytes of the item.'),
  fields: list('Further columns that become fields of the row. Absent: none.', column('A column.'), 0, 64).optional(),
  watermark: column(
    'Column that grows with each change (a time or a number); it is the version of a row. Absent: the version is a hash of the columns that are read.',
  ).optional(),
  channel: column(
    'Channel of NOTIFY whose payload is the key of the changed row; for mode Watch. Absent: the watermark is polled.',
  ).optional(),
}).optional();

const push = object('Items that others send to the webhook of this LiveSource, signed. Needs mode: Watch.', {
  secretFrom: secretFrom('Key of the signature (HMAC-SHA256 of time and body).'),
  maxItemBytes: bytes('Largest item that is accepted, such as 1Mi. Default 1Mi.', '1', '64Mi').default('1Mi'),
  tolerance: duration('How old a signature may be. Go duration, default 5m.', '1s', '24h').default('5m'),
}).optional();

const kinds = { git, directory, s3, http, postgres, push };

const KIND_STAYS: Rule = {
  holds: kindsStay(Object.keys(kinds)),
  message: 'the kind of source cannot be changed: make another LiveSource',
  reason: 'FieldValueForbidden',
};

function kindsStay(names: readonly string[]): Rule['holds'] {
  return and(...names.map((one) => bothOrNeither(`self.${one}`, `oldSelf.${one}`)));
}

export const source = exactlyOne(
  'What is watched. Exactly one kind; the kind cannot be changed.',
  kinds,
  {},
  KIND_STAYS,
);

/** What a LiveSource watches: exactly one kind. */
export type SourceSpec = z.infer<typeof source>;
export type GitSourceSpec = NonNullable<SourceSpec['git']>;
export type DirectorySourceSpec = NonNullable<SourceSpec['directory']>;
export type S3SourceSpec = NonNullable<SourceSpec['s3']>;
export type HttpSourceSpec = NonNullable<SourceSpec['http']>;
export type PostgresSourceSpec = NonNullable<SourceSpec['postgres']>;
export type PushSourceSpec = NonNullable<SourceSpec['push']>;
