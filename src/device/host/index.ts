/**
 * `rocev2/host`: what a host on Ethernet says besides RoCE: ARP and neighbour discovery, group membership, a small TCP
 * (`device.tcp`). Runs in a browser.
 *
 * @module rocev2/host
 */
export { groupMac } from './group-frames.ts';
export { isForMac } from './host-protocols.ts';
export type { NeighbourSuspicion, ResolutionNeed } from './neighbour-entry.ts';
export type { Resolution } from './neighbour-table.ts';
export { Neighbours, type NeighboursOptions } from './neighbours.ts';
export * from './tcp/index.ts';
