/**
 * Numbers of Linux that the UDP links with native sockets use. Owns nothing else; each is named as in the manual pages
 * udp(7) and ipv6(7).
 */

export const AF_INET6 = 10;
export const IPPROTO_IPV6 = 41;
export const SOL_UDP = 17;

export const UDP_NO_CHECK6_RX = 102;
export const UDP_SEGMENT = 103;
export const UDP_GRO = 104;

export const IPV6_MTU_DISCOVER = 23;
export const IPV6_V6ONLY = 26;
export const IPV6_HOPLIMIT = 52;
export const IPV6_RECVTCLASS = 66;
export const IPV6_TCLASS = 67;
/** Never fragment, and do not ask the path either. */
export const IPV6_PMTUDISC_PROBE = 3;
