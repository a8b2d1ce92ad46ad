/**
 * `rocev2/sim`: the simulated network, its faults, and the world that runs machines on it in virtual time.
 *
 * @module rocev2/sim
 */

export {
  type ActiveRule,
  describeFate,
  type EcnProfile,
  Fate,
  type FaultRule,
  type FaultSpec,
  type WireCounters,
  type WireDirection,
} from '../faults/fault-spec.ts';
export type { Wire } from '../faults/wire.ts';
export { congestionBits, markCongestion, markingProbability } from '../ground/ecn.ts';
export { EventQueue } from '../ground/event-queue.ts';
export { Prng } from '../ground/prng.ts';
export { BlankMemory } from './blank-memory.ts';
export type { SharedBuffer, SharedBufferCounters, SharedBufferOptions } from './buffer/index.ts';
export type { WorldPort } from './member.ts';
export { type NetworkOptions, type NetworkTap, type PortOptions, SimulatedNetwork } from './network.ts';
export { SimulatedPort, type SimulatedPortCounters } from './port.ts';
export * from './simulation/index.ts';
export * from './switching/index.ts';
export * from './topology/index.ts';
export * from './traffic/index.ts';
export {
  type DriveOptions,
  type MachineFactory,
  type PortOptionsOf,
  type RunForLimits,
  type RunLimits,
  World,
  type WorldNetwork,
  type WorldOptions,
} from './world.ts';
