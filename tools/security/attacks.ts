/**
 * The attacks of ref:hostile#2 by id, with what stands against each, as data. Owns the sentences of
 * docs/security-tests.md and which settings are named there; their defaults are the code's.
 */
import type { Defences, DeviceLimits, StrangerLimits } from 'rocev2';

/** A setting of a device against an attack: `DeviceOptions.defences`, `.strangers` or `.limits`. */
export type Setting =
  | `defences.${keyof Defences}`
  | `strangers.${keyof StrangerLimits}`
  | `limits.${keyof DeviceLimits}`;

export interface Attack {
  /** SEC-01 and up, without a gap. */
  readonly id: string;
  readonly attack: string;
  /** What stands against it, or why nothing can. */
  readonly defence: string;
  readonly settings?: readonly Setting[];
}

export const ATTACKS: readonly Attack[] = [
  {
    id: 'SEC-01',
    attack: 'all PSNs of a queue pair are tried',
    defence: 'PSNs no honest peer sends are counted, draw few answers, and raise an alarm',
    settings: ['defences.psnWindow'],
  },
  {
    id: 'SEC-02',
    attack: 'one valid request ahead of the victim’s',
    defence:
      'none: the protocol demands that the victim’s own is acknowledged as a duplicate, which a retransmission looks like as well. Only the counters of both ends together show it',
  },
  {
    id: 'SEC-03',
    attack: 'some valid requests ahead of the victim’s',
    defence: 'the victim ends with status 12 after its retries and never hangs; the responder stays usable',
  },
  {
    id: 'SEC-04',
    attack: '2^24 valid requests, so that the PSN wraps',
    defence: 'none: nothing of it shows on the wire. It costs no memory and no crash',
  },
  {
    id: 'SEC-05',
    attack: 'queue pair numbers are tried',
    defence: 'silence and a counter; numbers are random',
    settings: ['limits.maxQp'],
  },
  {
    id: 'SEC-06',
    attack: 'keys are guessed',
    defence: 'random keys with a variant that moves on; one wrong guess ends the queue pair',
  },
  {
    id: 'SEC-07',
    attack: 'a key of another domain, queue pair or right',
    defence: 'keys are compared with domain, right and owner, as SEC-06',
  },
  {
    id: 'SEC-08',
    attack: 'addresses and lengths at the edges of a region',
    defence: 'bounds are exact in 64 bits, by subtraction',
  },
  {
    id: 'SEC-09',
    attack: 'a wrong or reserved opcode at the expected PSN',
    defence: 'one NAK, and the queue pair is in ERROR',
  },
  {
    id: 'SEC-10',
    attack: 'packets of wrong lengths within a message',
    defence: 'one NAK, and nothing is written beyond the length of the message',
  },
  {
    id: 'SEC-11',
    attack: 'forged ACKs and NAKs to a requester',
    defence: 'only PSNs under way count; one retransmission in a round trip',
    settings: ['defences.psnWindow'],
  },
  {
    id: 'SEC-12',
    attack: 'forged READ responses',
    defence: 'nothing outside of the memory of the READ is written; each request completes once, in order',
  },
  {
    id: 'SEC-13',
    attack: 'a flood of congestion notifications',
    defence: 'one counts for a frame and an interval; a rate never falls below its minimum',
    settings: ['defences.minCnpIntervalNs'],
  },
  {
    id: 'SEC-14',
    attack: 'floods and forgeries to the connection manager',
    defence: 'bounded tables with fair shares; ids, addresses and queue pair have to be right',
    settings: ['strangers.maxRequests', 'strangers.maxRequestsPerSource', 'strangers.maxUnprovenReps'],
  },
  {
    id: 'SEC-15',
    attack: 'exhaustion: READs, atomics, receives, response bytes',
    defence: 'a limit on each; READ responses end when the peer shows no sign of life',
    settings: ['defences.maxReadResponseBytes', 'limits.maxQpRdAtom'],
  },
  {
    id: 'SEC-16',
    attack: 'another source address, P_Key, VLAN or service',
    defence: 'dropped, with a counter for each',
  },
  {
    id: 'SEC-17',
    attack: 'a second queue pair of the peer’s host, aimed at ours',
    defence: 'a setting: the source port has to stay. Off by default, as honest peers may change it',
    settings: ['defences.strictUdpSport'],
  },
  {
    id: 'SEC-18',
    attack: 'datagrams with a wrong Q_Key, P_Key, service or length',
    defence: 'silence, a counter for each, no receive used',
  },
  {
    id: 'SEC-19',
    attack: 'every bit of BTH and RETH flipped, with a right ICRC',
    defence: 'the outcome of each bit is known',
  },
  {
    id: 'SEC-20',
    attack: 'every bit of a packet flipped, with the ICRC as it was',
    defence: 'a covered bit is a drop, always',
  },
];
