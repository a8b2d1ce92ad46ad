/** Topologies of simulated networks: shapes, addresses and routes. */
export { HOST_PREFIX_LENGTH, hostAddress, hostMac, hostOf, sourceHostOf } from './addresses.ts';
export {
  buildTopology,
  type CustomLink,
  type CustomOptions,
  custom,
  type DumbbellOptions,
  dumbbell,
  type FatTreeOptions,
  fatTree,
  type LeafSpineOptions,
  leafSpine,
  type OfKind,
  type ParkingLotOptions,
  parkingLot,
  type RingOptions,
  ring,
  type StarOptions,
  star,
  type TopologySpec,
} from './builders.ts';
export { ecmpChoice, ecmpHash } from './ecmp.ts';
export { clockwiseRoutes, PathFinder, type PortPlace, pathBetween, Routes, shortestPaths } from './routes.ts';
export { checkTopology, type LinkSpec, portCounts, portName, type Topology, type TopologyEdge } from './topology.ts';
