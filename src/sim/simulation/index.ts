/** Whole simulations from plain data: a topology, switches, congestion control and flows; results as plain data. */
export type {
  FlowResult,
  HostOptions,
  NetworkTotals,
  PortResult,
  ProbeOptions,
  ProbeSeries,
  QueueStats,
  SeriesKind,
  SimulationOptions,
  SimulationResult,
  WindowOptions,
} from './options.ts';
export { simulate } from './simulate.ts';
export { jainIndex, mean, quantile } from './statistics.ts';
