/**
 * Goal: each column of an export has the number that its meaning names, and no other. Method: rows of which no two
 * numbers are alike, made by hand, and what each column has to say of them.
 */
import { expect, it } from 'vitest';
import { Op } from '../../../packets/opcode.ts';
import { Analyzer } from '../../../pcap/analysis/analyzer.ts';
import type { ConversationReport, EndReport, LatencyReport } from '../../../pcap/analysis/types.ts';
import { CAPTURES, INTERFACES } from '../../../tools/export/capture-tables.ts';
import { CONVERSATION_ENDS } from '../../../tools/export/conversation-table.ts';
import { PACKETS } from '../../../tools/export/packet-table.ts';
import type { Table, Value } from '../../../tools/export/schema.ts';
import { make } from '../../packets/made-frames.ts';
import { packetOf } from '../../pcap/filter/samples.ts';

/** Names and values of a row, NULLs left out. */
function rowOf<Row>({ columns }: Table<Row>, row: Row): Record<string, Value> {
  const values = columns.map(({ name, of }) => [name, of(row, { capture: 'c', host: 'h' })] as const);
  return Object.fromEntries(
    values
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
  );
}

const latency = (count: number): LatencyReport => {
  const [minNs, p50Ns, p99Ns, maxNs, meanNs] = [count + 1, count + 2, count + 3, count + 4, count + 5];
  return { count, minNs, p50Ns, p99Ns, maxNs, meanNs };
};
const latencyColumns = (name: string, count: number) => ({
  ...{ [`${name}_count`]: count, [`${name}_min_ns`]: count + 1, [`${name}_p50_ns`]: count + 2 },
  ...{ [`${name}_p99_ns`]: count + 3, [`${name}_max_ns`]: count + 4, [`${name}_mean_ns`]: count + 5 },
});

const END: EndReport = {
  ...{
    address: '10.0.0.2',
    mac: '02:00:00:00:00:02',
    qpn: 0x22,
    network: 'VXLAN 7',
    sourcePorts: [50_001, 50_002, 50_003],
  },
  ...{ flowLabel: 1, vlan: 5, vlanPriority: 3, vlans: [5, 6], pkeys: [0x80_01, 0x80_02], migReq: 1, migReqFrame: 2 },
  ...{ packets: 101, bytes: 102, badIcrc: 103, pathMtu: 1024 },
  requester: {
    ...{ firstPsn: 201, fromStart: true, nextPsn: 202, packets: 203, retransmittedPackets: 204, lostPackets: 205 },
    ...{
      unseenPackets: 206,
      reorderedPackets: 207,
      undecidedPackets: 208,
      missedResponses: 0,
      copies: 209,
      rnrNaks: 210,
      timeouts: 211,
    },
    ...{ impliedNaks: 212, ghostAcks: 213, acks: 214, mostOutstandingReads: 215, mostUnackedPackets: 216 },
    ...{ creditCode: 217, goodputBytes: 1_000_000, goodputBps: 218, unansweredPsn: 219 },
    messages: { SEND: 301, WRITE: 302, READ: 303, FETCH_ADD: 304, CMP_SWAP: 305, FLUSH: 306, ATOMIC_WRITE: 307 },
    naks: { 'PSN sequence error': 401, 'remote access error': 20 },
    responses: {
      ...{ packets: 501, retransmittedPackets: 502, lostPackets: 503 },
      ...{ unseenPackets: 504, reorderedPackets: 505, undecidedPackets: 506 },
    },
    ...{ ackLatency: latency(610), readLatency: latency(620), nakGeneration: latency(630), nakReaction: latency(640) },
  },
  congestion: {
    ...{ notEct: 701, ect0: 702, ect1: 703, ce: 704, cnpsSent: 705, cnpPacingNs: 706 },
    ...{ cnpIntervalNs: latency(710), dscp: { 26: 720 }, cnpDscp: { 48: 730 } },
  },
};
const PEER: EndReport = { ...END, address: '10.0.0.10', qpn: 0x11 };
const CONVERSATION: ConversationReport = {
  ...{ id: 9, service: 'RC', learnt: 'cm', interfaceIndex: 3, sameAs: 4, previousLife: 0 },
  ...{ firstFrame: 801, lastFrame: 899, startNs: 1000, endNs: 1000 + 8_000_000, ends: [PEER, END] },
  cm: {
    ...{ reqFrame: 901, repFrame: 902, rtuFrame: 903, dreqFrame: 904, activeEnd: 0, pathMtu: 4096 },
    ...{
      ackTimeoutExponent: 14,
      retryCount: 6,
      rnrRetryCount: 7,
      activeRnrRetryCount: 5,
      responderResources: 16,
      initiatorDepth: 17,
    },
    serviceId: '',
  },
};
const START = { seconds: 2, nanoseconds: 5 };

it('has each figure of an end in its own column', () => {
  expect(rowOf(CONVERSATION_ENDS, { conversation: CONVERSATION, side: 1, start: START })).toEqual({
    ...{ capture: 'c', host: 'h', conversation: 9, side: 1, pair: '10.0.0.10/17 10.0.0.2/34', service: 'RC' },
    ...{ learnt: 'cm', interface_index: 3, same_as: 4, first_frame: 801, last_frame: 899 },
    ...{ start_ns: 2_000_001_005, end_ns: 2_008_001_005, address: '10.0.0.2', qpn: 0x22, mac: '02:00:00:00:00:02' },
    network: 'VXLAN 7',
    ...{ peer_address: '10.0.0.10', peer_qpn: 0x11, source_port: 50_001, source_ports: 3, vlan: 5, vlan_priority: 3 },
    ...{ pkey: 0x80_01, mig_req: 1, packets: 101, wire_bytes: 102, bad_icrc: 103, path_mtu: 1024, first_psn: 201 },
    ...{ from_start: true, send_messages: 301, write_messages: 302, read_messages: 303, fetch_add_messages: 304 },
    ...{ cmp_swap_messages: 305, flush_messages: 306, atomic_write_messages: 307, request_packets: 203 },
    ...{ retransmitted_packets: 204, lost_packets: 205, unseen_packets: 206, reordered_packets: 207 },
    ...{ undecided_packets: 208, response_packets: 501, response_retransmitted_packets: 502 },
    ...{ response_lost_packets: 503, copies: 209, acks: 214, naks: 421, rnr_naks: 210, implied_naks: 212 },
    ...{ timeouts: 211, ghost_acks: 213, most_outstanding_reads: 215, most_unacked_packets: 216 },
    // 8 million bits in 8 ms.
    ...{ goodput_bytes: 1_000_000, goodput_bps: 1e9, unanswered_psn: 219 },
    ...latencyColumns('ack_latency', 610),
    ...latencyColumns('read_latency', 620),
    ...latencyColumns('nak_generation', 630),
    ...latencyColumns('nak_reaction', 640),
    ...{ not_ect: 701, ect0: 702, ect1: 703, ce: 704, cnps_sent: 705, cnp_pacing_ns: 706 },
    ...{
      cm_path_mtu: 4096,
      cm_ack_timeout_exponent: 14,
      cm_retry_count: 6,
      cm_rnr_retry_count: 7,
      cm_active_rnr_retry_count: 5,
    },
  });
});

it('has NULL for what an end never showed', () => {
  const { cm: _, ...unknown } = CONVERSATION;
  const silent = {
    ...END,
    qpn: -1,
    mac: '',
    network: '',
    sourcePorts: [],
    vlan: -1,
    vlanPriority: -1,
    pkeys: [],
    pathMtu: 0,
  };
  const row = rowOf(CONVERSATION_ENDS, {
    conversation: { ...unknown, sameAs: 0, ends: [silent, { ...END, migReq: -1 }] },
    side: 0,
    start: START,
  });
  const absent = 'qpn pair mac network source_port vlan vlan_priority pkey path_mtu same_as cm_path_mtu cm_retry_count';
  for (const name of absent.split(' ')) expect(row, name).not.toHaveProperty(name);
  expect(row['source_ports']).toBe(0);
});

/** What the packet table says of a frame, the first of a capture. */
function packetRow(bytes: Uint8Array): Record<string, Value> {
  return rowOf(PACKETS, new Analyzer().packet({ ...packetOf(bytes), seconds: 2, originalLength: bytes.length + 4 }));
}

it('has each field of the headers of a packet in its own column', () => {
  const bytes = make(
    Op.WriteFirst,
    (view, at) => {
      // AckReq and FECN.
      view.setUint8(at - 4, 0x80);
      view.setUint8(at - 8, 0x80);
      view.setUint32(at + 12, 2048);
    },
    { trafficClass: (26 << 2) | 1, hopLimit: 63 },
    1024,
  );
  expect(packetRow(withTag(bytes, 0x60_05))).toMatchObject({
    ...{ capture: 'c', host: 'h', frame: 1, time_ns: 2_000_000_001, interface_index: 0, direction: 'in' },
    ...{ wire_bytes: bytes.length + 8, captured_bytes: bytes.length + 4, status: 'Ok', roce: true, cut: false },
    ...{ src_mac: '52:54:00:00:00:02', dst_mac: '52:54:00:00:00:01', ether_type: 0x0800, vlan: 5, vlan_priority: 3 },
    ...{ src_ip: '10.77.0.2', dst_ip: '10.77.0.1', ip_protocol: 17, dscp: 26, ecn: 'ect1', hop_limit: 63 },
    ...{ src_port: 50_000, dst_port: 4791, opcode: 'RC RDMA WRITE First', dest_qpn: 0x12, psn: 1234, pkey: 0xff_ff },
    ...{ ack_req: 1, solicited: 0, mig_req: 0, fecn: 1, becn: 0, dma_bytes: 2048, payload_bytes: 1024 },
    ...{ icrc_state: 'good', role: 'request', conversation: 1, sender: 0, relative_psn: 0 },
  });
});

it('has the fields of a datagram and of an ACK, which a WRITE lacks', () => {
  const datagram = packetRow(make(Op.UdSendOnly, (view, at) => view.setUint32(at + 4, 0x00_12_34_56), {}, 8));
  expect(datagram).toMatchObject({ src_qpn: 0x12_34_56, payload_bytes: 8, role: 'datagram' });
  const acknowledge = packetRow(make(Op.Acknowledge, (view, at) => view.setUint32(at, 0x1f_00_00_07)));
  expect(acknowledge).toMatchObject({ syndrome: 0x1f, msn: 7, payload_bytes: 0, role: 'response' });
  for (const row of [datagram, acknowledge]) expect(row).not.toHaveProperty('dma_bytes');
  expect(datagram).not.toHaveProperty('syndrome');
  expect(acknowledge).not.toHaveProperty('src_qpn');
});

it('knows a priority tag, of VLAN 0 and priority 0, from no tag', () => {
  const bytes = make(Op.SendOnly);
  expect(packetRow(withTag(bytes, 0))).toMatchObject({ vlan: 0, vlan_priority: 0, ether_type: 0x0800 });
  const untagged = packetRow(bytes);
  for (const name of ['vlan', 'vlan_priority']) expect(untagged).not.toHaveProperty(name);
});

it('has the headers of a frame that is not RoCE as far as they go', () => {
  const row = packetRow(Uint8Array.from([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x06, ...new Uint8Array(46)]));
  expect(row).toMatchObject({ status: 'NotIp', roce: false, ether_type: 0x0806, src_mac: '02:00:00:00:00:02' });
  for (const name of ['src_ip', 'dscp', 'ecn', 'hop_limit', 'src_port', 'psn', 'icrc', 'frame_key', 'conversation'])
    expect(row, name).not.toHaveProperty(name);
});

it('has the totals of a capture, and what an interface counted, each in its own column', () => {
  const analysis = new Analyzer().finish();
  const capture = {
    ...analysis.capture,
    ...{ packets: 1, bytes: 2, durationNs: 3, rocePackets: 4, goodIcrc: 5, badIcrc: 6, cutPackets: 7, captureDrops: 8 },
    unread: { ESP: 9, other: 10 },
  };
  const all = { ...analysis, capture, conversations: [CONVERSATION], conversationsOmitted: 12 };
  const row = { file: 'f', analysis: all, start: START, events: 11, damage: 'cut' };
  expect(rowOf(CAPTURES, row)).toEqual({
    ...{ capture: 'c', host: 'h', file: 'f', damage: 'cut', start_ns: 2_000_000_005, end_ns: 2_000_000_008 },
    ...{ packets: 1, wire_bytes: 2, roce_packets: 4, good_icrc: 5, bad_icrc: 6, cut_packets: 7, unread_packets: 19 },
    ...{ capture_drops: 8, conversations: 1, conversations_omitted: 12, events: 11, limits: 0, findings: 0 },
  });
  const statistics = { ...START, received: 31, dropped: 32, accepted: 33, droppedByOs: 34, delivered: 35 };
  const texts = { name: 'eth0', description: 'd', hardware: 'hw', operatingSystem: 'os', filter: 'udp' };
  const about = { ...texts, linkType: 1, snapLength: 96, speedBps: 1e11, statistics };
  expect(rowOf(INTERFACES, { index: 2, about })).toEqual({
    ...{ capture: 'c', host: 'h', interface_index: 2, name: 'eth0', description: 'd', link_type: 1, snap_length: 96 },
    ...{ speed_bps: 1e11, hardware: 'hw', operating_system: 'os', filter: 'udp' },
    ...{ received: 31, dropped: 32, dropped_by_os: 34 },
  });
  const bare = rowOf(INTERFACES, { index: 0, about: { linkType: 1, snapLength: 0, name: '', description: '' } });
  expect(bare).toEqual({ capture: 'c', host: 'h', interface_index: 0, link_type: 1 });
});

/** With a VLAN tag. */
function withTag(bytes: Uint8Array, tci: number): Uint8Array {
  return Uint8Array.from([...bytes.subarray(0, 12), 0x81, 0x00, tci >>> 8, tci & 0xff, ...bytes.subarray(12)]);
}
