export * from './channel.ts';
export { DownWriter, deliverDown, type LinkedRunner } from './down-codec.ts';
export * from './link.ts';
export {
  type Frame,
  FrameSchema,
  HeartbeatSchema,
  type Hello,
  HelloSchema,
  LeavingSchema,
  RefusedSchema,
  RunnerLink,
  type Specs,
  SpecsSchema,
  type Welcome,
  WelcomeSchema,
} from './link_pb.ts';
export * from './messages.ts';
export * from './order.ts';
export { Outflow } from './outflow.ts';
export * from './path.ts';
export * from './questions.ts';
export { decodeReport, encodeReport } from './report-codec.ts';
export * from './trace-context.ts';
export { deliverUp, UpWriter } from './up-codec.ts';
