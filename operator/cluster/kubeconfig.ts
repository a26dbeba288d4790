// The part of client-node that the operator needs. The bundle takes it in without the rest (scripts/lean.ts): all of it costs 50 MiB.
export { KubeConfig } from '@kubernetes/client-node';
