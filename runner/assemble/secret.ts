/** Reference to a secret value, as it stands in a spec. */
export interface SecretFrom {
  readonly secretKeyRef?: { readonly name: string; readonly key: string } | undefined;
  readonly env?: string | undefined;
}

/** Value of a secret, read anew at each use. Throws a message for people that names the reference, never the value. */
export type ReadSecret = (from: SecretFrom) => Promise<string>;
