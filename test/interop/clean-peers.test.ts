// Goal: a capture of a sound conversation of others gives no cause for alarm, whoever they are: perftest, rdma_cm's
// programs, rsockets, NVMe over RDMA and UCX, on rdma_rxe of three kernels.
// Method: the captures of test/vectors/peers, whose origin is in test/vectors/README.md; whole, and from the middle on,
// as a capture that was begun too late. tshark reads them to the end and finds no header malformed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { LinkType } from '../../pcap/types.ts';
import { analyze } from '../../tools/experiment/findings.ts';
import { tsharkAvailable, tsharkRows } from '../../tools/tshark.ts';
import { allTsharkFrames, verifyFrames } from '../../tools/verify/index.ts';
import { describeWith } from '../support/need.ts';
import { PEER_CAPTURES, peerCapturePath, peerPackets } from '../vectors/captures.ts';

/** One of NVMe and one of UCX: some seconds. */
const VERIFIED = ['6.12-nvme-2-queues.pcap.gz', '6.12-ucx-rc-get.pcap.gz'];
/** By the bytes or the TCP port of what is carried: of data of NVMe, of messages and the introduction of UCX. */
const GUESSED = [
  '_ws.malformed',
  '[Malformed Packet: NVMe Fabrics RDMA]',
  '[Malformed Packet: RPCoRDMA]',
  '[Malformed Packet: RPCAP]',
];

const alarms = (packets: ReturnType<typeof peerPackets>): string[] =>
  analyze(packets).findings.flatMap(({ severity, id, text }) => (severity === 'note' ? [] : [`${id}: ${text}`]));

describe('captures of peers on a sound wire', () => {
  it.each(PEER_CAPTURES)('%s: no finding above a note', (name) => {
    const packets = peerPackets(name);
    const { capture, conversations, limits } = analyze(packets);
    expect(alarms(packets)).toEqual([]);
    expect(limits).toEqual([]);
    expect(capture.rocePackets).toBeGreaterThan(30);
    expect(capture.badIcrc).toBe(0);
    const lost = conversations.flatMap(({ ends }) => ends.map(({ requester }) => requester.lostPackets));
    expect(lost.every((count) => count === 0)).toBe(true);
  });

  it.each(PEER_CAPTURES)('%s: none either where the capture begins in the middle', (name) => {
    const packets = peerPackets(name);
    for (const part of [0.25, 0.5, 0.75])
      expect(alarms(packets.slice(Math.floor(packets.length * part))), `from ${part}`).toEqual([]);
  });

  it('every kind of peer is there', () => {
    for (const peer of ['ib_', 'rping', 'rstream', 'rcopy', 'nvme', 'ucx', 'cmtime'])
      expect(PEER_CAPTURES.filter((name) => name.includes(peer)).length, peer).toBeGreaterThan(0);
    for (const kernel of ['6.1-', '6.12-', '7.2-'])
      expect(PEER_CAPTURES.filter((name) => name.startsWith(kernel)).length, kernel).toBeGreaterThan(2);
  });

  it('a packet that is taken away is an alarm or at least told', () => {
    // The same captures are not quiet because nobody looks.
    const packets = peerPackets('6.12-nvme-2-queues.pcap.gz');
    const { conversations } = analyze(packets.filter((_, i) => i % 100 !== 99));
    const unseen = conversations.flatMap(({ ends }) =>
      ends.map(({ requester }) => requester.unseenPackets + requester.responses.unseenPackets),
    );
    expect(unseen.some((count) => count > 0)).toBe(true);
  });
});

describeWith('tshark', 'tshark of the same captures', () => {
  it('reads every packet, and calls none malformed but payloads that it takes for other protocols', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'rocev2-peers-'));
    try {
      const all = PEER_CAPTURES.flatMap(peerPackets);
      const writer = new PcapWriter(LinkType.Ethernet);
      for (const { bytes, seconds, nanoseconds } of all) writer.packet(bytes, 0, bytes.length, seconds, nanoseconds);
      const path = join(directory, 'peers.pcap');
      writeFileSync(path, writer.take());
      const rows = await tsharkRows(path, ['frame.number', '_ws.malformed', 'infiniband.bth.opcode']);
      expect(rows).toHaveLength(all.length);
      const malformed = new Set(rows.flatMap((row) => row.get('_ws.malformed') ?? []));
      expect([...malformed].filter((what) => !GUESSED.includes(what))).toEqual([]);
      const roce = rows.filter((row) => (row.get('infiniband.bth.opcode') ?? []).length > 0);
      expect(roce).toHaveLength(analyze(all).capture.rocePackets);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each(VERIFIED)('%s: has the field values that we read', async (name) => {
    const frames = await allTsharkFrames(peerCapturePath(name));
    const unexpected: unknown[] = [];
    const { names } = await verifyFrames(peerPackets(name), frames, {
      version: tsharkAvailable().version,
      onDifference: (difference) => difference.expectation ?? unexpected.push(difference),
    });
    expect(unexpected).toEqual([]);
    expect(names.size).toBeGreaterThan(40);
  });
});
