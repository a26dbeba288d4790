// Puts the generated CRDs onto an API server and waits until it serves them.
import { emitCrds } from '../../crds/emit/index.ts';
import { GROUP, VERSION } from '../../crds/schema/index.ts';
import type { ApiServer } from './apiserver.ts';

const SERVED_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 50;

export async function installCrds(api: ApiServer): Promise<void> {
  for (const crd of emitCrds()) {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict';
    const answer = await api.ask('POST', path, crd);
    if (answer.status !== 201) throw new Error(`${crd.metadata.name} was refused: ${JSON.stringify(answer.body)}`);
    if (answer.warnings.length > 0) throw new Error(`${crd.metadata.name}: ${answer.warnings.join('; ')}`);
  }
  await untilServed(api);
}

async function untilServed(api: ApiServer): Promise<void> {
  const deadline = performance.now() + SERVED_WITHIN_MS;
  for (;;) {
    const answers = await Promise.all(
      ['pipelines', 'livesources'].map((plural) => api.ask('GET', `/apis/${GROUP}/${VERSION}/${plural}`)),
    );
    if (answers.every((answer) => answer.status === 200)) return;
    if (performance.now() > deadline) throw new Error('the API server does not serve the kinds');
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}
