// The generated files: plain manifests, the chart's copy, the reference page. `make generate` writes them.
import { stringify } from 'yaml';
import { type Crd, emitCrds } from './crd.ts';
import { objectsReference } from './reference.ts';

const HEADER = '# Written by `make generate` from crds/schema. Do not edit.\n';

/** Text of each generated file, by path from the root of the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const crd of emitCrds()) {
    files.set(`crds/manifests/${crd.metadata.name}.yaml`, HEADER + yamlOf(crd));
    files.set(`charts/fairlead/templates/crds/${crd.metadata.name}.yaml`, chartCopy(crd));
  }
  files.set('docs/reference/objects.md', objectsReference());
  return files;
}

const yamlOf = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

/**
 * A template, not a file of the chart's `crds` folder: Helm would install those once and never upgrade them. `crds.keep` keeps
 * the CRDs, and so every Pipeline and LiveSource, when the release is removed.
 */
function chartCopy({ apiVersion, kind, metadata, spec }: Crd): string {
  const body = yamlOf({ spec });
  if (body.includes('{{')) throw new Error(`${metadata.name}: the text would be read as a template`);
  return `${HEADER}{{- if .Values.crds.enabled }}
apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: ${metadata.name}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
${body}{{- end }}
`;
}
