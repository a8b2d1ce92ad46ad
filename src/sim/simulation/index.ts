/** Whole simulations from plain data: a topology, switches, congestion control and flows; results as plain data. */
export type {
  FlowResult,
  HostOptions,
  NetworkTotals,
  PortResult,
  ProbeOptions,
  QueueStats,
  Series,
  SeriesKind,
  SimulationOptions,
  SimulationResult,
  WindowOptions,
} from './options.ts';
export { simulate } from './simulate.ts';
export { jainIndex, mean, quantile } from './statistics.ts';
