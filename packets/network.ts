/**
 * The headers around RoCEv2 and the protocols of a host on Ethernet, to bytes and back: Ethernet, VLAN, IPv4, IPv6,
 * UDP, ARP, ICMP, neighbour discovery, IGMP, MLD, PFC.
 *
 * @module rocev2/packets/network
 */
export * from './arp.ts';
export * from './checksum.ts';
export * from './ethernet.ts';
export * from './group-record.ts';
export * from './icmp.ts';
export * from './icmpv6-nd.ts';
export * from './igmp.ts';
export * from './ipv4.ts';
export * from './ipv6.ts';
export * from './mld.ts';
export * from './pfc.ts';
export * from './udp.ts';
export * from './vlan.ts';
