// Where the program of a worker thread lies.

/**
 * In the repository the source file beside its caller, which Node runs as it is; in images and in the npm package the file of that name
 * beside the bundle (`scripts/bundle.ts`). `caller` is the caller's `import.meta.url`.
 */
export function workerUrl(caller: string, source: string, bundled: string): URL {
  return new URL(caller.endsWith('.ts') ? source : `./${bundled}.js`, caller);
}
