// Whether the API server serves the kinds of this operator, with every field that it knows. It asks the OpenAPI document, which every account may
// read, so that no right on definitions is needed.
import { API_VERSION, KINDS, type KindName, missingFields, type ServedNode } from '../../crds/schema/index.ts';
import { isNotFound } from './errors.ts';
import type { KubeApi } from './rest.ts';

interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, ServedNode>> };
}

const FIELDS_NAMED = 3;

/** What is wrong with the definitions, and what to do; undefined: nothing. Throws where the API server does not say. */
export async function definitionsProblem(api: KubeApi, signal: AbortSignal): Promise<string | undefined> {
  const schemas = await servedSchemas(api, signal);
  for (const kind of Object.keys(KINDS) as KindName[]) {
    const served = Object.entries(schemas).find(([name]) => name.endsWith(`.${kind}`))?.[1];
    if (served === undefined)
      return `the cluster does not serve ${kind} of ${API_VERSION}: install the definitions, with crds.enabled=true of the chart or kubectl apply -f crds/manifests`;
    const fields = missingFields(kind, served);
    if (fields.length > 0)
      return `the definition of ${kind} is older than this operator: it lacks ${listed(fields)}. Upgrade the definitions, with crds.enabled=true of the chart or kubectl apply -f crds/manifests`;
  }
  return undefined;
}

async function servedSchemas(api: KubeApi, signal: AbortSignal): Promise<Readonly<Record<string, ServedNode>>> {
  try {
    const path = `/openapi/v3/apis/${API_VERSION}`;
    return (await api.request<OpenApiDocument>({ method: 'GET', path, signal })).components?.schemas ?? {};
  } catch (error) {
    if (isNotFound(error)) return {};
    throw error;
  }
}

function listed(fields: readonly string[]): string {
  const more = fields.length - FIELDS_NAMED;
  return fields.slice(0, FIELDS_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
