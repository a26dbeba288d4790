// What is measured, and with how much telemetry.
export const KINDS = ['engine', 'runs'] as const;
export type Kind = (typeof KINDS)[number];

/** `metrics`: alone. `traces`: metrics, and every update traced and exported, its runs by the budget of spans. */
export const MODES = ['off', 'metrics', 'traces'] as const;
export type Mode = (typeof MODES)[number];
