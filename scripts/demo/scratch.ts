// A copy of the repository's files, with the same Pipeline over it as a watched folder.
import { copyFileSync, lstatSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Scratch {
  readonly folder: string;
  /** Folder with the copied files. */
  readonly tree: string;
  /** Files with the objects. */
  readonly objects: readonly string[];
}

const liveSource = (pipeline: string) => `apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: copy}
spec:
  pipelineRef: {name: ${pipeline}}
  source: {directory: {path: tree, exclude: ["**/package-lock.json"]}}
  mode: Watch
`;

/** Copies the files and the Pipeline of a folder of objects. */
export function makeScratch(files: readonly string[], pipelineFolder: string): Scratch {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-demo-'));
  const tree = join(folder, 'tree');
  for (const file of files) {
    if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) continue;
    mkdirSync(join(tree, dirname(file)), { recursive: true });
    copyFileSync(file, join(tree, file));
  }
  const pipeline = join(folder, 'pipeline.yaml');
  const source = join(folder, 'source.yaml');
  copyFileSync(join(pipelineFolder, 'pipeline.yaml'), pipeline);
  writeFileSync(source, liveSource('code-index'));
  return { folder, tree, objects: [pipeline, source] };
}
