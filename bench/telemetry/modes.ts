// What is measured, and with how much telemetry.
export const KINDS = ['engine', 'runs'] as const;
export type Kind = (typeof KINDS)[number];

/**
 * - `off`: nothing follows. - `control`: the same once more, so that its distance from `off` says how certain the others are.
 * - `metrics`: alone.
 * - `unsampled`: metrics, and the trace of every update, which is kept here and sent nowhere: the sampler says no, as where no endpoint is set.
 * - `traces`: the same, and every trace sampled and exported.
 */
export const MODES = ['off', 'control', 'metrics', 'unsampled', 'traces'] as const;
export type Mode = (typeof MODES)[number];
