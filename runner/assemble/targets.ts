// Makes the targets that a Pipeline names, and says which of them live in the state's own store.
import { dirname } from 'node:path';
import { type PipelineSpec, type TargetSpec, targetOf } from '../../crds/schema/index.ts';
import type { Clock } from '../clock.ts';
import type { Target } from '../execute/index.ts';
import { makeFolder } from '../folders.ts';
import { StepError } from '../sdk/index.ts';
import type { ReadSecret } from '../secrets.ts';
import { JsonlTarget, PostgresTarget, SqliteTarget } from '../targets/index.ts';
import { absolute, type Folders, targetFile } from './names.ts';

export interface TargetOptions {
  readonly clock: Clock;
  readonly pipeline: string;
  readonly folders: Folders;
  readonly readOnly: boolean;
  readonly secret: ReadSecret;
}

/** A target with the store that it shares with the state, if it does; not prepared yet. */
export type MadeTarget =
  | { readonly target: SqliteTarget; readonly lodges: 'sqlite' }
  | { readonly target: PostgresTarget; readonly lodges: 'postgres' }
  | { readonly target: Target; readonly lodges: undefined };

/** Makes a target. `stateUrl`: address of the state's database; `stateId` is known once the state is open and told to targets of their own. */
export class TargetMaker {
  readonly #spec: PipelineSpec;
  readonly #options: TargetOptions;
  readonly #stateUrl: string | undefined;

  constructor(spec: PipelineSpec, options: TargetOptions, stateUrl: string | undefined) {
    this.#spec = spec;
    this.#options = options;
    this.#stateUrl = stateUrl;
  }

  /** Targets that live in the state's store. */
  async shared(): Promise<MadeTarget[]> {
    const made: MadeTarget[] = [];
    for (const spec of this.#spec.targets) {
      const one = await this.#shared(spec);
      if (one !== undefined) made.push(one);
    }
    return made;
  }

  /** A target of its own. */
  async own(spec: TargetSpec, stateId: string): Promise<Target> {
    const { kind } = targetOf(spec);
    if (spec.sqlite !== undefined) return this.#sqlite(spec, stateId);
    if (spec.postgres !== undefined)
      return this.#postgres(spec, spec.postgres, { stateId, url: await this.#url(spec) });
    if (spec.jsonl !== undefined) return this.#jsonl(spec.name, spec.jsonl.path, stateId);
    throw new StepError(
      'invalid',
      `the target ${spec.name} is of kind ${kind}, which is declared and not built yet: use ${kind === 'qdrant' ? 'postgres' : 'sqlite'}`,
    );
  }

  async #shared(spec: TargetSpec): Promise<MadeTarget | undefined> {
    if (spec.sqlite !== undefined && this.#file(spec) === undefined)
      return { lodges: 'sqlite', target: await this.#sqlite(spec, undefined) };
    if (spec.postgres !== undefined && this.#stateUrl !== undefined && (await this.#url(spec)) === this.#stateUrl)
      return { lodges: 'postgres', target: this.#postgres(spec, spec.postgres, {}) };
    return undefined;
  }

  #file(spec: TargetSpec): string | undefined {
    return targetFile(this.#spec, spec, this.#options.folders);
  }

  #url(spec: TargetSpec): Promise<string> {
    return this.#options.secret(spec.postgres?.urlFrom ?? {});
  }

  async #sqlite(spec: TargetSpec, stateId: string | undefined): Promise<SqliteTarget> {
    const { table, vector, fullText } = spec.sqlite!;
    const { pipeline, readOnly } = this.#options;
    const file = this.#file(spec);
    if (file !== undefined && !readOnly) makeFolder(dirname(file));
    return new SqliteTarget({
      name: spec.name,
      table,
      fullText,
      pipeline,
      readOnly,
      ...(vector !== undefined && { vector }),
      ...(file !== undefined && { file }),
      ...(stateId !== undefined && { stateId }),
    });
  }

  async #jsonl(name: string, file: string, stateId: string): Promise<JsonlTarget> {
    const { clock, pipeline, readOnly, folders } = this.#options;
    const path = absolute(file, folders);
    if (!readOnly) makeFolder(dirname(path));
    return new JsonlTarget({ name, path, clock, pipeline, stateId, readOnly });
  }

  #postgres(
    { name }: TargetSpec,
    { schema, table, vector, fullText, language }: NonNullable<TargetSpec['postgres']>,
    place: { readonly url?: string; readonly stateId?: string },
  ): PostgresTarget {
    const { pipeline, readOnly } = this.#options;
    const vectorColumn = vector === undefined ? {} : { vector };
    return new PostgresTarget({
      name,
      schema,
      table,
      fullText,
      language,
      pipeline,
      readOnly,
      ...vectorColumn,
      ...place,
    });
  }
}
