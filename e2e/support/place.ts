// A namespace of a scenario file: made before its scenarios with restricted Pod Security, removed with all that is in it after.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { keepEvidence } from './evidence.ts';
import { attempt, run } from './programs.ts';
import { type Holds, list, type Seen, until, type Where } from './watch.ts';

export class Place {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  async make(): Promise<void> {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace, labels } };
    await run('kubectl', ['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(namespace) });
  }

  async remove(): Promise<void> {
    for (const kind of ['livesources', 'pipelines']) await this.#removeAll(kind);
    await attempt('kubectl', ['delete', 'namespace', this.namespace, '--ignore-not-found', '--timeout=240s'], {
      withinMs: 300_000,
    });
  }

  /** Runs kubectl here. */
  readonly kubectl = (...args: string[]): Promise<string> => run('kubectl', ['-n', this.namespace, ...args]);

  /** Applies a manifest: text, or a file of e2e/. */
  apply(manifest: string | { readonly file: string }): Promise<string> {
    const stdin = typeof manifest === 'string' ? manifest : readFileSync(e2eFile(manifest.file), 'utf8');
    return run('kubectl', ['-n', this.namespace, 'apply', '--server-side', '-f', '-'], { stdin });
  }

  /** Applies the manifest of a Deployment and waits until it serves. */
  async serve(file: string, deployment: string): Promise<void> {
    await this.apply({ file });
    await this.kubectl('rollout', 'status', `deployment/${deployment}`, '--timeout=170s');
  }

  list(where: Omit<Where, 'namespace'>): Promise<readonly Seen[]> {
    return list({ ...where, namespace: this.namespace });
  }

  until(where: Omit<Where, 'namespace'>, holds: Holds, what: string): Promise<readonly Seen[]> {
    return until({ ...where, namespace: this.namespace }, holds, what);
  }

  /** After a failure the operator may be gone: its finalizers must not keep the namespace. */
  async #removeAll(kind: string): Promise<void> {
    const here = (...args: string[]) => attempt('kubectl', ['-n', this.namespace, ...args]);
    await here('delete', kind, '--all', '--timeout=60s');
    const { stdout } = await here('get', kind, '-o', 'name');
    for (const name of stdout.split('\n').filter((line) => line !== ''))
      await here('patch', name, '--type=merge', '-p', JSON.stringify({ metadata: { finalizers: null } }));
  }
}

/** A file of e2e/. */
export const e2eFile = (name: string): URL => new URL(`../${name}`, import.meta.url);

/** The namespace of this file's scenarios. Evidence of what fails is kept before it goes. */
export function usePlace(namespace: string): Place {
  const place = new Place(namespace);
  let hasBegun = false;
  beforeAll(() => place.make());
  beforeEach(() => {
    hasBegun = true;
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await keepEvidence(task.name);
  });
  afterAll(async () => {
    if (!hasBegun) await keepEvidence(`before ${namespace}`);
    await place.remove();
  });
  return place;
}
