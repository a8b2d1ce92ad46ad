/** Networks of switches in virtual time: what a `World` drives where queues, rates and pauses matter. */
export type { Deadlock } from './deadlock-watch.ts';
export type { EgressCounters, EgressListener, EgressPort, IngressListener } from './egress-port.ts';
export type { HostNetwork, HostPort, HostPortCounters } from './host-port.ts';
export type { SwitchedNetworkOptions, SwitchOptions } from './options.ts';
export type { SwitchCounters, SwitchNode } from './switch-node.ts';
export { SwitchedNetwork, type SwitchedNetworkCounters } from './switched-network.ts';
export type { FabricTap } from './transmitter.ts';
