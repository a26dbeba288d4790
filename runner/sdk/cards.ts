// What a body that holds a card may ask: which cards, and how much of each.
import { ambientRun } from './ambient.ts';

/** Indices of the cards that the body around holds, as `CUDA_VISIBLE_DEVICES` of this process counts them; none where it holds none. */
export function currentGpus(): readonly number[] {
  return ambientRun('currentGpus').cards?.cards ?? [];
}

/** The part of each of its cards that the body around may use: 0.5 for `gpu: 500m`, 1 for whole cards, 0 where it holds none. */
export function currentGpuFraction(): number {
  return (ambientRun('currentGpuFraction').cards?.milliShare ?? 0) / 1000;
}
