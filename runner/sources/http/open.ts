// Makes the http source of a spec.
import type { Clock } from '../../clock.ts';
import type { Source } from '../../execute/index.ts';
import type { ReadSecret } from '../../secrets.ts';
import type { HttpSpec } from '../common/spec.ts';
import { addressFilter } from './filter.ts';
import { HttpSource } from './source.ts';
import { Web } from './web.ts';

const CONCURRENCY_DEFAULT = 4;

export function openHttp(spec: HttpSpec, options: { readonly clock: Clock; readonly secret: ReadSecret }): Source {
  const { tokenFrom, concurrency = CONCURRENCY_DEFAULT } = spec;
  const token = async () => (tokenFrom === undefined ? undefined : (await options.secret(tokenFrom)).trim());
  return new HttpSource({
    web: new Web({ headers: spec.headers ?? {}, token, concurrency }),
    sitemap: spec.sitemap,
    list: spec.list ?? [],
    filter: addressFilter(spec),
    ignoreRobots: spec.ignoreRobots ?? false,
    concurrency,
    clock: options.clock,
  });
}
