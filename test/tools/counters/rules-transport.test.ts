/**
 * Goal: what is said of retries, NAKs and duplicates, and how grave it is. Method: each row is what counters of a host
 * (and of its peers) grew by in a minute, under the names of their drivers; thresholds just below and just above.
 */
import { describe, expect, it } from 'vitest';
import { type Growth, grown, said } from './grown.ts';

/** Severity and text of what is said with an id; undefined for nothing. */
function judged(id: string, ...hosts: readonly Growth[]): [string, string] | undefined {
  const finding = said(id, hosts);
  return finding === undefined ? undefined : [finding.severity, finding.text];
}

describe('no-reply', () => {
  it('retries used up while nothing at all came in', () => {
    const growth = { max_retry_exceeded: 1, to_retransmits: 8, tx_pkts: 1200, rx_pkts: 0 };
    expect(said('no-reply', [growth])).toMatchObject({
      severity: 'error',
      text: 'n1 mlx5_0/1 sent 1,200 packets and received none: the ACK timer ran out 8 times, and 1 request used up the retries.',
      ports: ['n1 mlx5_0/1'],
      evidence: { 'retry-exceeded': 1, 'ack-timeout': 8, 'tx-packets': 1200, 'rx-packets': 0, seconds: 60 },
      limit: 'Which peer does not answer is not in the counters, nor which queue pair it was.',
    });
    expect(said('retry-exceeded', [growth])).toBeUndefined();
  });

  it('four ACK timeouts are sure, three are not', () => {
    const deaf = { tx_pkts: 40, rx_pkts: 0 };
    expect(judged('no-reply', { ...deaf, to_retransmits: 4 })).toEqual([
      'warning',
      'n1 mlx5_0/1 sent 40 packets and received none: the ACK timer ran out 4 times.',
    ]);
    expect(grown([{ ...deaf, to_retransmits: 3 }]).findings).toEqual([]);
  });

  it('rdma_rxe counts no ACK timeouts, so nothing is said of them', () => {
    expect(judged('no-reply', { retry_exceeded_err: 2, sent_pkts: 1, rcvd_pkts: 0 })).toEqual([
      'error',
      'n1 mlx5_0/1 sent 1 packet and received none: 2 requests used up the retries.',
    ]);
  });

  it.each([
    ['received one packet', { rx_pkts: 1, tx_pkts: 40 }],
    ['sent none', { rx_pkts: 0, tx_pkts: 0 }],
    ['does not count what it receives', { tx_pkts: 40 }],
  ])('not at a port that %s', (_, traffic) => {
    const growth = { max_retry_exceeded: 1, to_retransmits: 8, ...traffic };
    expect(said('no-reply', [growth])).toBeUndefined();
    expect(said('retry-exceeded', [growth])).toMatchObject({ severity: 'error' });
  });
});

describe('retry-exceeded', () => {
  it.each<[string, Growth, string]>([
    [
      'with all that is known',
      { max_retry_exceeded: 2, to_retransmits: 1, tx_pkts: 900, rx_pkts: 1000 },
      '2 requests of n1 mlx5_0/1 used up the retries: nothing answered any more. ' +
        'The ACK timer ran out once. 1,000 packets came in meanwhile.',
    ],
    ['alone', { max_retry_exceeded: 1 }, '1 request of n1 mlx5_0/1 used up the retries: nothing answered any more.'],
  ])('retries used up, %s', (_, growth, text) => {
    expect(judged('retry-exceeded', growth)).toEqual(['error', text]);
  });

  it.each<[string, Growth, string]>([
    ['10 in 100,000 packets', { to_retransmits: 10, tx_pkts: 100_000 }, 'warning'],
    ['10 in more packets', { to_retransmits: 10, tx_pkts: 100_001 }, 'note'],
    ['9, whatever was sent', { to_retransmits: 9, tx_pkts: 100 }, 'note'],
    ['100 where packets are not counted', { to_retransmits: 100 }, 'warning'],
    ['99 where packets are not counted', { to_retransmits: 99 }, 'note'],
  ])('ACK timeouts after which an answer came: %s', (_, growth, severity) => {
    expect(said('retry-exceeded', [{ max_retry_exceeded: 0, rx_pkts: 50, ...growth }])?.severity).toBe(severity);
  });

  it('says how many timeouts there were, and for how many packets', () => {
    const growth = { to_retransmits: 12, tx_pkts: 3000, rx_pkts: 2900, max_retry_exceeded: 0 };
    expect(judged('retry-exceeded', growth)?.[1]).toBe(
      'The ACK timer of n1 mlx5_0/1 ran out 12 times, for 3,000 packets sent; the retries were not used up. ' +
        'Each time the connection stood still for an ACK timeout.',
    );
  });

  it('irdma does not count retries that were used up, so they may have been', () => {
    expect(judged('retry-exceeded', { RTO: 1 })?.[1]).toBe(
      'The ACK timer of n1 mlx5_0/1 ran out once; whether retries were used up is not counted here. ' +
        'Each time the connection stood still for an ACK timeout.',
    );
  });

  it('timeouts of adaptive retransmission are ACK timeouts of mlx5', () => {
    expect(said('retry-exceeded', [{ local_ack_timeout_err: 3, roce_adp_retrans_to: 150 }])).toMatchObject({
      severity: 'warning',
      text: expect.stringContaining('ran out 150 times'),
      evidence: { 'ack-timeout': 3, 'adaptive-timeout': 150 },
    });
  });
});

describe('rnr-exceeded', () => {
  it.each<[string, Growth, string]>([
    ['10, one in a hundred', { rnr_nak_retry_err: 10, rdma_tx_packets: 1000 }, 'warning'],
    ['10 in more packets', { rnr_nak_retry_err: 10, rdma_tx_packets: 1001 }, 'note'],
    ['9, however few packets', { rnr_nak_retry_err: 9, rdma_tx_packets: 20 }, 'note'],
    ['10 where packets are not counted', { rnr_nak_retry_err: 10 }, 'warning'],
    ['one, and then no more', { rnr_nak_retry_err: 1, req_rnr_retries_exceeded: 1 }, 'error'],
    ['sent by this end, which is the peer', { rx_out_of_buffer: 5000 }, 'note'],
  ])('RNR NAKs: %s', (_, growth, severity) => {
    expect(said('rnr-exceeded', [growth])?.severity).toBe(severity);
  });

  it.each<[Growth, string]>([
    [
      { rnr_nak_retry_err: 20, rdma_tx_packets: 1000 },
      'n1 mlx5_0/1 was asked to wait 20 times, because its peers had no receive posted: 2 % of the packets it sent.',
    ],
    [
      { rnr_nak_retry_err: 7, req_rnr_retries_exceeded: 1 },
      'n1 mlx5_0/1 was asked to wait 7 times, because its peers had no receive posted, and gave up once.',
    ],
    [
      { req_rnr_retries_exceeded: 2, rdma_tx_packets: 1000 },
      'n1 mlx5_0/1 gave up 2 times, because its peers had no receive posted.',
    ],
    [{ out_of_buffer: 1 }, 'n1 mlx5_0/1 had no receive posted for 1 packet.'],
    // Both count the same packets.
    [{ send_rnr_err: 4, out_of_buffer: 6 }, 'n1 mlx5_0/1 had no receive posted for 6 packets.'],
  ])('%j', (growth, text) => {
    expect(judged('rnr-exceeded', growth)?.[1]).toBe(text);
  });
});

describe('refusals are errors at the first one', () => {
  it.each<[string, Growth, string]>([
    [
      'remote-access-error',
      { req_remote_access_errors: 1 },
      '1 request of n1 mlx5_0/1 was refused by the peer for the key, the range or the rights. Each ends its connection.',
    ],
    [
      'remote-access-error',
      { res_rx_no_perm: 2, res_rx_range_err: 1 },
      'n1 mlx5_0/1 refused 3 requests for the key, the range or the rights. Each ends its connection.',
    ],
    [
      'remote-invalid-request',
      { remote_invalid_req_err: 2, res_opcode_err: 1 },
      '2 requests of n1 mlx5_0/1 were refused by the peer as invalid, and n1 mlx5_0/1 refused 1 request as invalid. ' +
        'Each ends its connection.',
    ],
    [
      'remote-operational-error',
      { remote_op_err: 1 },
      '1 request of n1 mlx5_0/1 was refused by the peer because the responder itself failed. Each ends its connection.',
    ],
  ])('%s %j', (id, growth, text) => {
    expect(judged(id, growth)).toEqual(['error', text]);
  });

  it.each([
    ['remote-access-error', { remote_access_err: 1 }, 'Which key and which address were meant is not in the counters'],
    ['remote-invalid-request', { remote_invalid_req_err: 1 }, 'What was asked for is not in the counters'],
    ['remote-operational-error', { remote_op_err: 1 }, 'Why the responder failed is not in the counters'],
  ])('%s says what counters cannot tell', (id, growth, limit) => {
    expect(said(id, [growth])?.limit).toBe(`${limit}, nor which queue pair it was.`);
  });

  it('a refusal without a reason is one of three, unless a requester says which', () => {
    expect(said('counter/refused', [{ refused_request: 1 }, { req_remote_access_errors: 0 }])).toMatchObject({
      severity: 'error',
      text: 'n1 mlx5_0/1 refused 1 request with NAK 0x61, 0x62 or 0x63; each ends its connection.',
      evidence: { 'request-refused': 1 },
      advice: ['Take snapshots of the requesters as well.'],
      commands: [],
    });
    for (const told of ['req_remote_access_errors', 'req_remote_invalid_request', 'req_remote_operation_errors'])
      expect(said('counter/refused', [{ refused_request: 1 }, { [told]: 1 }])).toBeUndefined();
  });
});

describe('sequence-error', () => {
  it.each<[string, Growth, string]>([
    ['received, one in 10,000', { out_of_sequence: 1, rdma_rx_packets: 10_000 }, 'warning'],
    ['received, fewer', { out_of_sequence: 1, rdma_rx_packets: 10_001 }, 'note'],
    ['told by NAKs, one in 10,000', { packet_seq_err: 5, rdma_tx_packets: 50_000 }, 'warning'],
    ['told by NAKs, fewer', { packet_seq_err: 5, rdma_tx_packets: 50_001 }, 'note'],
    ['100 where packets are not counted', { out_of_sequence: 60, packet_seq_err: 40 }, 'warning'],
    ['99 where packets are not counted', { out_of_sequence: 60, packet_seq_err: 39 }, 'note'],
    // Of what was received nothing is known but the losses.
    ['100 received, and only what was sent is counted', { out_of_sequence: 100, rdma_tx_packets: 1e9 }, 'warning'],
    ['100 NAKs, and only what was received is counted', { packet_seq_err: 100, rdma_rx_packets: 1e9 }, 'warning'],
    ['few received, and 100 NAKs', { out_of_sequence: 1, rdma_rx_packets: 1e9, packet_seq_err: 100 }, 'warning'],
    ['few received, and one NAK', { out_of_sequence: 100, rdma_rx_packets: 1e9, packet_seq_err: 1 }, 'note'],
  ])('%s', (_, growth, severity) => {
    expect(said('sequence-error', [growth])?.severity).toBe(severity);
  });

  it.each<[Growth, string]>([
    [
      { out_of_sequence: 1, rdma_rx_packets: 8000, rdma_tx_packets: 100 },
      'n1 mlx5_0/1 received 1 packet out of sequence (0.013 % of its packets). ',
    ],
    [
      { packet_seq_err: 3, rdma_tx_packets: 100, rdma_rx_packets: 8000 },
      'n1 mlx5_0/1 was told 3 times that its packets were missing (3 % of its packets). ',
    ],
    // The larger share of the two.
    [
      { out_of_sequence: 2, packet_seq_err: 1, rdma_rx_packets: 100, rdma_tx_packets: 1000 },
      'n1 mlx5_0/1 received 2 packets out of sequence, and n1 mlx5_0/1 was told once that its packets were missing ' +
        '(2 % of its packets). ',
    ],
    [{ out_of_sequence: 5, rdma_tx_packets: 1e9 }, 'n1 mlx5_0/1 received 5 packets out of sequence. '],
  ])('%j', (growth, text) => {
    expect(judged('sequence-error', growth)?.[1]).toBe(
      `${text}Each time everything from the missing packet on is sent again.`,
    );
  });

  it('rdma_rxe counts NAKs and missing responses together, and the evidence has that counter', () => {
    expect(said('sequence-error', [{ rcvd_seq_err: 4 }])).toMatchObject({
      text:
        'n1 mlx5_0/1 was told 4 times that its packets were missing, or missed responses. ' +
        'Each time everything from the missing packet on is sent again.',
      evidence: { 'sequence-or-implied-nak': 4 },
    });
  });

  it('where missing responses are counted apart, the rest were NAKs', () => {
    expect(judged('sequence-error', { rcvd_seq_err: 4, implied_nak_seq_err: 3 })?.[1]).toContain(
      'was told once that its packets were missing. ',
    );
    expect(judged('sequence-error', { rcvd_seq_err: 3, implied_nak_seq_err: 3 })).toBeUndefined();
  });

  it.each<[string, string, readonly Growth[]]>([
    ['note', 'as many came damaged', [{ out_of_sequence: 5, rx_icrc_encapsulated: 5 }]],
    ['warning', 'fewer came damaged', [{ out_of_sequence: 6, rx_icrc_encapsulated: 5 }]],
    ['warning', 'as many came damaged, but to another host', [{ out_of_sequence: 5 }, { rx_icrc_encapsulated: 5 }]],
    ['note', 'its peer got as many damaged', [{ packet_seq_err: 5 }, { out_of_sequence: 5, rx_icrc_encapsulated: 5 }]],
    ['warning', 'one came damaged, and the losses are at its peers', [{ packet_seq_err: 5, rx_icrc_encapsulated: 1 }]],
    ['warning', 'five came damaged, and the losses are at its peers', [{ packet_seq_err: 5, rx_icrc_encapsulated: 5 }]],
  ])('%s: %s', (severity, _, [first, ...others]) => {
    const traffic = { rdma_rx_packets: 1000, rdma_tx_packets: 1000 };
    expect(said('sequence-error', [{ ...traffic, ...first }, ...others])?.severity).toBe(severity);
  });
});

describe('implied-nak', () => {
  it.each<[Growth, string, string]>([
    [
      { implied_nak_seq_err: 1, rdma_rx_packets: 10_000 },
      'warning',
      'missed responses of READs or atomics once, for 10,000 packets received, and sent the requests again.',
    ],
    [
      { implied_nak_seq_err: 1, rdma_rx_packets: 10_001 },
      'note',
      'missed responses of READs or atomics once, for 10,001 packets received, and sent the requests again.',
    ],
    [
      { implied_nak_seq_err: 100 },
      'warning',
      'missed responses of READs or atomics 100 times, and sent the requests again.',
    ],
    [
      { implied_nak_seq_err: 99 },
      'note',
      'missed responses of READs or atomics 99 times, and sent the requests again.',
    ],
  ])('%j: %s', (growth, severity, text) => {
    expect(judged('implied-nak', growth)).toEqual([severity, `n1 mlx5_0/1 ${text}`]);
  });
});

describe('gid-mismatch', () => {
  it('packets from another address, while requests got no answer', () => {
    expect(said('gid-mismatch', [{ bad_address: 3 }, { local_ack_timeout_err: 1 }])).toMatchObject({
      severity: 'error',
      text:
        'n1 mlx5_0/1 dropped 3 packets that came from another address than that of their connection, ' +
        'while requests got no answer.',
      evidence: { 'wrong-address': 3 },
    });
    expect(said('gid-mismatch', [{ bad_address: 3, retry_exceeded_err: 1 }])?.severity).toBe('error');
  });

  it('not where all requests got one', () => {
    expect(said('gid-mismatch', [{ bad_address: 3 }, { local_ack_timeout_err: 0 }])).toBeUndefined();
  });
});

describe('duplicate-requests', () => {
  const late = { local_ack_timeout_err: 1 };

  it.each<[string, string, Growth, Growth]>([
    ['warning', '10, one in a hundred', { duplicate_request: 10, rdma_rx_packets: 1000 }, late],
    ['note', '10 in more packets', { duplicate_request: 10, rdma_rx_packets: 1001 }, late],
    ['note', '9, however few packets', { duplicate_request: 9, rdma_rx_packets: 20 }, late],
    ['warning', '10 where packets are not counted', { duplicate_request: 10 }, late],
    ['note', 'no timer ran out', { duplicate_request: 10 }, { local_ack_timeout_err: 0 }],
    ['warning', 'timers are not counted', { duplicate_request: 10 }, { sent_pkts: 1 }],
    ['warning', 'the requesters are not there', { duplicate_request: 10, local_ack_timeout_err: 0 }, {}],
  ])('%s: %s', (severity, _, growth, peer) => {
    expect(said('duplicate-requests', [growth, peer])?.severity).toBe(severity);
  });

  it.each<[string, Growth, string]>([
    [
      'ACK timers ran out',
      { local_ack_timeout_err: 2 },
      'ACK timers ran out 2 times at requesters, though the requests had arrived.',
    ],
    [
      'none ran out',
      { local_ack_timeout_err: 0 },
      'no ACK timer of these hosts ran out, so the network has copied them, unless their requesters are other hosts.',
    ],
    [
      'responses were missed',
      { local_ack_timeout_err: 0, implied_nak_seq_err: 1 },
      'responses were missed once at requesters, which asked for them again.',
    ],
    ['nobody says why', { sent_pkts: 1 }, 'the answers were lost or late.'],
  ])('the cause, where %s', (_, peer, cause) => {
    const growth = { duplicate_request: 5, rdma_rx_packets: 1000, local_ack_timeout_err: 0 };
    expect(judged('duplicate-requests', growth, peer)?.[1]).toBe(
      `n1 mlx5_0/1 received 5 packets of requests that it had already (0.5 % of what came in): ${cause}`,
    );
  });

  it('come by themselves after a loss, and are not told then', () => {
    expect(said('duplicate-requests', [{ duplicate_request: 50, out_of_sequence: 1 }, late])).toBeUndefined();
  });

  it('have the timeouts of all hosts as evidence', () => {
    const hosts = [{ duplicate_request: 5 }, { local_ack_timeout_err: 2 }, { to_retransmits: 3 }];
    expect(said('duplicate-requests', hosts)?.evidence).toEqual({ 'duplicate-request': 5, timeouts: 5, seconds: 60 });
  });
});
