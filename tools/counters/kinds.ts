/**
 * What counters count, whatever their driver calls them: the kinds that the diagnosis reads.
 *
 * Owns the list. The names that drivers give are in `names-rdma.ts` and `names-port.ts`.
 */

/** Who counts it: the end that asks or answers, congestion control, the port, the connection manager. */
export type Role = 'requester' | 'responder' | 'congestion' | 'port' | 'connections';

/** One kind of event or amount. */
export interface KindInfo {
  readonly role: Role;
  readonly unit: 'times' | 'packets' | 'frames' | 'requests' | 'messages' | 'bytes' | 'us' | 'words';
  /** What one more means. */
  readonly about: string;
}

/** Every kind, by its name. */
export const KINDS = {
  'ack-timeout': info('requester', 'times', 'the ACK timer ran out: no answer in time'),
  'retry-exceeded': info(
    'requester',
    'requests',
    'the retries were used up (completion status 12); a connection ended',
  ),
  'sequence-nak': info('requester', 'packets', 'sequence NAK (0x60) received: the peer misses a packet'),
  'sequence-or-implied-nak': info('requester', 'times', 'sequence NAK received, or responses missing'),
  'implied-nak': info(
    'requester',
    'times',
    'a response came before those of an earlier READ or atomic: responses were lost',
  ),
  'rnr-nak-received': info('requester', 'packets', 'RNR NAK received: the peer has no receive posted'),
  'rnr-exceeded': info('requester', 'requests', 'the RNR retries were used up (completion status 13)'),
  'access-error': info('requester', 'requests', 'refused by the peer with NAK 0x62 (completion status 10)'),
  'invalid-request': info('requester', 'requests', 'refused by the peer with NAK 0x61 (completion status 9)'),
  'operation-error': info('requester', 'requests', 'the peer failed: NAK 0x63 (completion status 11)'),
  retransmission: info('requester', 'packets', 'packet sent again'),
  'adaptive-retransmission': info('requester', 'times', 'retransmission that the NIC began before the ACK timeout'),
  'adaptive-timeout': info('requester', 'times', 'timeout of adaptive retransmission'),
  'slow-restart': info('requester', 'times', 'the NIC began again slowly after a loss'),
  'dead-peer': info('requester', 'times', 'a peer did not answer, or a connection was impaired'),
  'out-of-sequence': info('responder', 'packets', 'request with a later PSN than expected: one is missing'),
  'duplicate-request': info('responder', 'packets', 'request that had arrived before'),
  'rnr-nak-sent': info('responder', 'packets', 'RNR NAK sent: no receive posted'),
  'no-receive': info('responder', 'packets', 'no receive was posted for it'),
  'access-refused': info('responder', 'requests', 'request refused for its key, range or rights'),
  'invalid-refused': info('responder', 'requests', 'request refused as invalid'),
  'operation-refused': info('responder', 'requests', 'request refused because the responder failed'),
  'request-refused': info('responder', 'requests', 'request refused with NAK 0x61, 0x62 or 0x63'),
  'wrong-address': info('responder', 'packets', 'packet from another address than that of the connection'),
  'ecn-marked': info('congestion', 'packets', 'RoCE packet received with the mark Congestion Experienced'),
  'cnp-sent': info('congestion', 'packets', 'congestion notification sent'),
  'cnp-received': info('congestion', 'packets', 'congestion notification received'),
  'cnp-handled': info('congestion', 'packets', 'congestion notification received, and the rate reduced'),
  'cnp-ignored': info('congestion', 'packets', 'congestion notification received, and nothing done'),
  'icrc-error': info('port', 'packets', 'RoCE packet dropped for its ICRC'),
  'rx-packets': info('port', 'packets', 'RoCE packet received'),
  'tx-packets': info('port', 'packets', 'RoCE packet sent'),
  'pause-rx': info('port', 'frames', 'pause frame received: the link partner stops this port'),
  'pause-tx': info('port', 'frames', 'pause frame sent: this port stops the link partner'),
  'pause-rx-time': info('port', 'us', 'time that this port was stopped'),
  'pause-tx-time': info('port', 'us', 'time that this port stopped the link partner'),
  'priority-rx': info('port', 'packets', 'packet received in a priority'),
  'priority-tx': info('port', 'packets', 'packet sent in a priority'),
  'rx-discard': info('port', 'packets', 'received and dropped: no buffer'),
  'tx-discard': info('port', 'packets', 'dropped instead of being sent'),
  oversize: info('port', 'packets', 'dropped because longer than the MTU'),
  'symbol-error': info('port', 'times', 'minor error on a lane of the link; not each damages a frame'),
  'frame-error': info('port', 'packets', 'Ethernet frame damaged: FCS or symbols'),
  'link-down': info('port', 'times', 'the link went down'),
  'ecn-set': info('port', 'packets', 'marked Congestion Experienced by this device'),
  'cm-reject-received': info('connections', 'messages', 'REJ received: the connection was refused'),
  'cm-refused': info('connections', 'messages', 'request for a connection refused: nobody listens, or not to this'),
  'cm-request-retry': info('connections', 'messages', 'REQ sent again: no answer in time'),
  'cm-reply-received': info('connections', 'messages', 'REP received: the connection is accepted'),
  'cm-duplicate': info('connections', 'messages', 'message that had arrived before'),
  'cm-backlog-full': info('connections', 'messages', 'request dropped because too many were waiting'),
  'cm-accepted': info('connections', 'messages', 'message of the connection manager that was right'),
} as const satisfies Record<string, KindInfo>;

/** The name of a kind. */
export type Kind = keyof typeof KINDS;

/** All of them, in the order of the list. */
export const ALL_KINDS = Object.keys(KINDS) as readonly Kind[];

function info(role: Role, unit: KindInfo['unit'], about: string): KindInfo {
  return { role, unit, about };
}
