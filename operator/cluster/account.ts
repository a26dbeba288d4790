// The service account that the operator runs as. What the operator keeps in its namespace (Lease, link Secret) is owned by it, so that
// the garbage collector takes both when the release is uninstalled. No right is needed: the account's own token names its uid.
import { readFile } from 'node:fs/promises';

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

interface Claims {
  readonly 'kubernetes.io'?: { readonly serviceaccount?: { readonly name?: string; readonly uid?: string } };
}

/** Undefined outside a pod, and where the token is not one that Kubernetes made. */
export async function ownAccount(tokenFile = TOKEN_FILE): Promise<OwnerReference | undefined> {
  const token = await readFile(tokenFile, 'utf8').catch(() => '');
  const { name, uid } = claimsOf(token)['kubernetes.io']?.serviceaccount ?? {};
  return name === undefined || uid === undefined ? undefined : { apiVersion: 'v1', kind: 'ServiceAccount', name, uid };
}

function claimsOf(token: string): Claims {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
  } catch {
    return {};
  }
}
