// Goal: every frame of real rdma_rxe traffic decodes to the field values that tshark prints, carries a right ICRC, and
// is written again to the same bytes; and the analyzer has nothing to say of any.
// Method: the two captures of rdma_rxe are compared with tshark as it runs, where it is there;
// a sample cut from them, with tshark's words committed beside it, is compared always. Make the sample anew with
// `npx tsx test/vectors/make-rxe-sample.ts`.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { FrameStatus } from '../../packets/frame.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { readCapture } from '../../pcap/reader.ts';
import { type CapturedPacket, LinkType } from '../../pcap/types.ts';
import { analyze } from '../../tools/experiment/findings.ts';
import { tsharkAvailable } from '../../tools/tshark.ts';
import { allTsharkFrames, colonHex, type TsharkFrame, verifyFrames } from '../../tools/verify/index.ts';
import { describeWith } from '../support/need.ts';
import { RXE_CAPTURES, rxeCapture, rxeCapturePath } from '../vectors/captures.ts';
import { decodeFrame, reencodeFrame } from './frame-decoder.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));

interface Expected {
  readonly packets: CapturedPacket[];
  readonly tshark: readonly TsharkFrame[];
  /** Of tshark. */
  readonly version: string;
}

describe('the sample of rdma_rxe traffic', () => {
  compareAll(async () => {
    const lines = readFileSync(SAMPLE.replace('.pcap', '.ndjson'), 'utf8').trimEnd().split('\n');
    return {
      packets: [...readCapture(readFileSync(SAMPLE))],
      tshark: lines.map((line): TsharkFrame => JSON.parse(line)),
      version: '4.0.17',
    };
  });
});

for (const name of RXE_CAPTURES) {
  describeWith('tshark', `the capture ${name}`, () => {
    compareAll(async () => ({
      packets: [...readCapture(rxeCapture(name))],
      tshark: await allTsharkFrames(rxeCapturePath(name)),
      version: tsharkAvailable().version,
    }));
  });
}

function compareAll(load: () => Promise<Expected>): void {
  let expected: Expected;
  beforeAll(async () => {
    expected = await load();
  });

  it('is read whole, as Ethernet frames, with RoCE of every kind that rxe sends', () => {
    expect(expected.packets.length).toBe(expected.tshark.length);
    expect(expected.packets.length).toBeGreaterThan(30);
    for (const { linkType, bytes, originalLength } of expected.packets) {
      expect([linkType, bytes.length]).toEqual([LinkType.Ethernet, originalLength]);
    }
    const opcodes = new Set(expected.packets.map(({ bytes }) => decodeFrame(bytes).frame.opcode));
    expect([...opcodes].sort((a, b) => a - b)).toEqual(RXE_OPCODES);
  });

  it('has the field values that tshark prints, no fewer and no more, its misreading of the path in a REQ apart', async () => {
    const { packets, tshark, version } = expected;
    const unexpected: unknown[] = [];
    const summary = await verifyFrames(packets, tshark, {
      version,
      onDifference: (difference) => difference.expectation ?? unexpected.push(difference),
    });
    expect(unexpected).toEqual([]);
    expect(summary).toMatchObject({ frames: packets.length, unexpected: 0 });
    expect([...summary.expected.keys()].filter((id) => id !== 'payload-with-pad')).toEqual(['cm-req-prim-flow-label']);
    expect(summary.noLongerNeeded.size).toBe(0);
    // Names that must have been met: a comparison of nothing would pass too.
    expect([...summary.names]).toEqual(expect.arrayContaining(MUST_BE_COMPARED));
  });

  it('is no cause for alarm to the analyzer', () => {
    // The sample lacks packets, and the same queue pair numbers are in its halves from two kernels: that is noted.
    expect(analyze(expected.packets).findings.filter(({ severity }) => severity !== 'note')).toEqual([]);
  });

  it('has the payload that tshark hands on', () => {
    let compared = 0;
    expected.packets.forEach(({ number, bytes }, index) => {
      const { frame, status } = decodeFrame(bytes);
      const theirs = expected.tshark[index] ?? {};
      if (status !== FrameStatus.Ok || theirs['data.len'] === undefined) return;
      const payload = bytes.subarray(frame.payloadOffset, frame.payloadOffset + frame.payloadLength);
      expect(`${payload.length}`, `frame ${number}`).toBe(theirs['data.len']);
      // The committed sample leaves long payloads out.
      if (theirs['data.data'] !== undefined) expect(colonHex(payload), `frame ${number}`).toBe(theirs['data.data']);
      compared++;
    });
    expect(compared).toBeGreaterThan(10);
  });

  it('has a right ICRC in every RoCE frame', () => {
    for (const [index, { number, bytes }] of expected.packets.entries()) {
      const { frame, status } = decodeFrame(bytes);
      const isRoce = expected.tshark[index]?.['udp.dstport'] === '4791';
      expect(status === FrameStatus.Ok, `frame ${number}`).toBe(isRoce);
      if (isRoce) expect(icrcMatches(frame), `ICRC of frame ${number}`).toBe(true);
    }
  });

  it('is written again to the same bytes', () => {
    for (const { number, bytes } of expected.packets) {
      expect(colonHex(reencodeFrame(decodeFrame(bytes))), `frame ${number}`).toBe(colonHex(bytes));
    }
  });
}

/** What the programs in the captures use; 0 is also what a frame without a BTH has. */
const RXE_OPCODES = [
  ...[0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12, 0x13, 0x14],
  ...[0x20, 0x21, 0x22, 0x26, 0x27, 0x28, 0x64, 0x65],
];

const MUST_BE_COMPARED = [
  ...['eth.dst', 'ip.src', 'ip.checksum', 'ipv6.hlim', 'udp.srcport', 'arp.opcode', 'icmpv6.nd.ns.target_address'],
  ...[
    'infiniband.bth.psn',
    'infiniband.deth.srcqp',
    'infiniband.reth.dmalen',
    'infiniband.aeth.msn',
    'infiniband.immdt',
  ],
  ...['infiniband.atomiceth.swapdt', 'infiniband.atomicacketh.origremdt', 'infiniband.invariant.crc'],
  ...['infiniband.cm.req.ip_cm.sip4', 'infiniband.cm.rep.startpsn', 'infiniband.cm.rtu.localcommid'],
  ...['infiniband.cm.dreq.localcommid', 'infiniband.cm.drsp.localcommid', 'infiniband.mad.attributeid'],
];
