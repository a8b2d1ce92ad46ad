/** Traffic of simulated networks: patterns of flows, and how large they are. */
export {
  checkDistribution,
  drawBytes,
  FACEBOOK_HADOOP,
  fixedSize,
  meanBytes,
  quantileBytes,
  SIZE_DISTRIBUTIONS,
  type SizeDistribution,
  sizeDistribution,
  WEB_SEARCH,
} from './distributions.ts';
export type { Flow, FlowOperation } from './flow.ts';
export {
  type AllToAllOptions,
  allToAll,
  type FlowTraits,
  type IncastOptions,
  incast,
  makeTraffic,
  type OfPattern,
  type PairsOptions,
  type PermutationOptions,
  type PoissonOptions,
  pairs,
  permutation,
  poisson,
  type RingAllReduceOptions,
  ringAllReduce,
  type Sizes,
  type TrafficSpec,
  type TwoSides,
} from './generators.ts';
