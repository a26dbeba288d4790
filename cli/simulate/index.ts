export { type Recording, readRecording } from './decisions.ts';
export { lastEndMs, PICTURE_SLOTS_MAX, picture } from './picture.ts';
export { printFigures, printTable, resultsOf } from './print.ts';
export { printReplayed, type ReplayedRule, replayDecisions } from './replay-decisions.ts';
export { panels, type Simulation, simulateAll, simulateTable } from './run.ts';
export { parseWorkload, RULE_NAMES, type RuleName, type Workload, WorkloadError } from './workload.ts';
