// Goal: every frame of real rdma_rxe traffic decodes to the field values that tshark prints, carries a right ICRC, and is written again
// to the same bytes.
// Method: the two captures of the project's reference are compared with tshark as it runs, when both are there (in CI they must be);
// a sample cut from them, with tshark's words committed beside it, is compared always. Make the sample anew with
// `npx tsx test/vectors/make-rxe-sample.ts`.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FieldValue } from '../../packets/field-list.ts';
import { FrameStatus } from '../../packets/frame.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { readCapture } from '../../pcap/reader.ts';
import { type CapturedPacket, LinkType } from '../../pcap/types.ts';
import { tsharkAvailable } from '../../tools/tshark.ts';
import { decodeFrame, reencodeFrame } from './frame-decoder.ts';
import { type TsharkFrame, tsharkFrames } from './tshark-values.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));
const CAPTURES = fileURLToPath(new URL('../../../shared/captures/', import.meta.url));

const { CI } = process.env;

interface Expected {
  readonly packets: CapturedPacket[];
  readonly tshark: readonly TsharkFrame[];
}

describe('the sample of rdma_rxe traffic', () => {
  compareAll(async () => {
    const lines = readFileSync(SAMPLE.replace('.pcap', '.ndjson'), 'utf8').trimEnd().split('\n');
    return {
      packets: [...readCapture(readFileSync(SAMPLE))],
      tshark: lines.map((line): TsharkFrame => JSON.parse(line)),
    };
  });
});

for (const name of ['rxe-6.1.pcap', 'rxe-6.12.pcap']) {
  const missing = whatIsMissing(name);
  if (missing !== '') process.stderr.write(`skipped: ${name} against tshark: ${missing}\n`);
  describe.skipIf(missing !== '' && CI === undefined)(`the capture ${name}`, () => {
    compareAll(async () => {
      expect(missing).toBe('');
      const packets = [...readCapture(readFileSync(CAPTURES + name))];
      return { packets, tshark: await tsharkFrames(CAPTURES + name) };
    });
  });
}

function whatIsMissing(name: string): string {
  return existsSync(CAPTURES + name) ? tsharkAvailable().reason : 'the file is not there';
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

  it('has the field values that tshark prints, no fewer and no more', () => {
    const seen = new Set<string>();
    expected.packets.forEach(({ number, bytes }, index) => {
      const { frame, status } = decodeFrame(bytes);
      const ours = frameFields(frame, status, status === FrameStatus.Ok && icrcMatches(frame));
      const theirs = expected.tshark[index] ?? {};
      const differences = differencesOf(ours, theirs, seen);
      expect(differences, `frame ${number}`).toEqual([]);
    });
    // Names that must have been met: a comparison of nothing would pass too.
    expect([...seen]).toEqual(expect.arrayContaining(MUST_BE_COMPARED));
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

/** Sentences on what differs; names that were compared go into `seen`. */
function differencesOf(ours: Record<string, FieldValue>, theirs: TsharkFrame, seen: Set<string>): string[] {
  const differences: string[] = [];
  for (const [name, value] of Object.entries(theirs)) {
    if (!name.startsWith('infiniband') || NOT_FIELDS.has(name)) continue;
    if (RESERVED.test(name)) {
      // Reserved bits are not decoded, so they have to be zero for the frame to be written again.
      const set = [value].flat().find((bits) => !/^[0x:]*$/.test(bits) && !isMisread(name, ours, bits));
      if (set !== undefined) differences.push(`${name} is not zero: ${set}`);
    } else if (ours[name] === undefined) {
      differences.push(`${name} is missing, tshark has ${value}`);
    }
  }
  for (const [name, value] of Object.entries(ours)) {
    if (name.startsWith('roce.')) continue;
    const theirValue = [theirs[name] ?? []].flat()[0];
    seen.add(name);
    if (theirValue === undefined) differences.push(`${name} is ${value}, tshark has no such field`);
    else if (!isSameValue(value, theirValue) && !isMisread(name, ours, theirValue))
      differences.push(`${name} is ${value}, tshark has ${theirValue}`);
  }
  return differences;
}

/** Whether tshark's other value is exactly the known misreading. */
function isMisread(name: string, ours: Record<string, FieldValue>, theirs: string): boolean {
  const flowLabel = ours['infiniband.cm.req.prim_flowlabel'];
  return typeof flowLabel === 'number' && MISREAD.get(name)?.(flowLabel) === Number(theirs);
}

function isSameValue(ours: FieldValue, theirs: string): boolean {
  if (ours === theirs) return true;
  if (typeof ours === 'string' && !/^\d+$/.test(ours)) return false;
  // Immediate data and the R_Key of an invalidate are byte strings to tshark and numbers here.
  const number = /^[0-9a-f]{2}(:[0-9a-f]{2})+$/.test(theirs) ? `0x${theirs.replaceAll(':', '')}` : theirs;
  return BigInt(ours) === BigInt(number);
}

function colonHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/** What the programs in the captures use; 0 is also what a frame without a BTH has. */
const RXE_OPCODES = [
  ...[0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12, 0x13, 0x14],
  ...[0x20, 0x21, 0x22, 0x26, 0x27, 0x28, 0x64, 0x65],
];

/** Whole headers as bytes, of which each field is compared by itself, and the parts of a service id. */
const NOT_FIELDS = new Set(
  [
    ...[
      'bth',
      'deth',
      'reth',
      'aeth',
      'atomiceth',
      'atomicacketh',
      'mad',
      'mad.data',
      'smplid.smpdata',
      'cm.req.ip_cm',
    ],
    'cm.req.serviceid.prefix',
  ].map((name) => `infiniband.${name}`),
);

const RESERVED = /reserved\d*$/;

/**
 * What Wireshark 4.0 shows for the path of a REQ, from the true flow label: it takes the label, the reserved bits and the packet rate
 * from the first three bytes and the first byte of the label (packets/cm/path.ts).
 */
const MISREAD: ReadonlyMap<string, (flowLabel: number) => number> = new Map([
  ['infiniband.cm.req.prim_flowlabel', (label: number) => label >>> 8],
  ['infiniband.cm.req.prim_reserved0', (label: number) => label >>> 18],
  ['infiniband.cm.req.prim_pktrate', (label: number) => (label >>> 12) & 0x3f],
]);

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
