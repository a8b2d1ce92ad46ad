/** What the areas of the registry are about, in words. */
import type { Area } from '../rules/types.ts';

export const AREA_TITLES: Readonly<Record<Area, string>> = {
  PKT: 'packet validation',
  'RSP-PSN': 'PSNs at the responder',
  OPS: 'opcode sequence',
  LEN: 'length, pad, MTU',
  KEY: 'keys, bounds, memory windows',
  RD: 'RDMA READ',
  ATM: 'atomics',
  ACK: 'ACK, NAK, MSN, credits',
  RNR: 'receiver not ready',
  REQ: 'requester: ACKs, retries, timers',
  UC: 'unreliable connections',
  UD: 'unreliable datagrams',
  MC: 'multicast',
  PKQ: 'P_Key',
  CM: 'connection management',
  ANX: 'the RoCEv2 annex',
  CNP: 'congestion notification packets',
  MPE: 'FLUSH and ATOMIC WRITE',
  QPS: 'states of queue pairs, completions, verbs',
  XRC: 'extended reliable connections',
  ND: 'ARP and neighbour discovery',
};
