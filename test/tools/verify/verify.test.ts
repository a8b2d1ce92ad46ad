/**
 * Goal: verify says of every kind of frame that this project writes what tshark says of it, and cannot be fooled:
 * whatever one side reads otherwise is told. Method: frames of every kind with values of a seed; the same frames with
 * one bit flipped for both sides, and for one side only, which must be noticed exactly where the field values say so;
 * captures that are cut.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Medium } from '../../../packets/frame.ts';
import { OPCODES } from '../../../packets/opcode.ts';
import type { CapturedPacket } from '../../../pcap/types.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { roceFrame, station } from '../../../tools/symptoms/forge.ts';
import { aeth } from '../../../tools/symptoms/headers.ts';
import { tsharkAvailable } from '../../../tools/tshark.ts';
import {
  allTsharkFrames,
  compareFrame,
  EXPECTATIONS,
  expectationsFor,
  FrameDescriber,
  type FrameDifference,
  type KnownDifference,
  type TsharkFrame,
  type VerifySummary,
  verifyFrames,
} from '../../../tools/verify/index.ts';
import { TUNNEL_WRAPPINGS } from '../../pcap/tunnels/wrappings.ts';
import { describeWith } from '../../support/need.ts';
import { everyFrame, type MadeFrame } from './every-frame.ts';
import { captureOf, cutCapture, damaged, packetsOf, Scratch } from './made-capture.ts';

const SEED = 20;

interface Verdict extends VerifySummary {
  /** What nothing explains, in words that name the frame. */
  readonly surprises: readonly string[];
}

async function verify(packets: readonly CapturedPacket[], theirs: readonly TsharkFrame[]): Promise<Verdict> {
  const unexpected: FrameDifference[] = [];
  const onDifference = (difference: FrameDifference) => {
    if (difference.expectation === undefined) unexpected.push(difference);
  };
  const summary = await verifyFrames(packets, theirs, { version: tsharkAvailable().version, onDifference });
  const surprises = unexpected.map(({ frame, field, ours, theirs: values }) => `${frame} ${field} ${ours} | ${values}`);
  return { ...summary, surprises };
}

describeWith('tshark', 'verify', () => {
  let table: readonly KnownDifference[];
  const scratch = new Scratch();
  /** All of IPv4 and a quarter of the rest; all of them, with other seeds, are in verify.long.test.ts. */
  let frames: MadeFrame[];
  let packets: CapturedPacket[];
  let theirs: TsharkFrame[];

  beforeAll(async () => {
    table = expectationsFor(tsharkAvailable().version, EXPECTATIONS);
    frames = everyFrame(SEED).filter((_, i) => i < 560 || i % 4 === 0 || i > 1890);
    const capture = captureOf(frames);
    packets = packetsOf(capture);
    theirs = await allTsharkFrames(scratch.file('every.pcapng', capture));
  });
  afterAll(() => scratch.remove());

  it('agrees on every frame this project writes, but for what is in the table', async () => {
    const verdict = await verify(packets, theirs);
    expect(verdict.surprises).toEqual([]);
    expect(verdict).toMatchObject({ frames: frames.length, unexpected: 0, noLongerNeeded: new Map() });
    expect([...verdict.expected.keys()].sort()).toEqual(EXPECTED_OF_GOOD_FRAMES);
    expect(verdict.fields).toBeGreaterThan(25_000);
  });

  it('has looked at every opcode, and at every field that we have a name for', async () => {
    const describer = new FrameDescriber();
    const fields = packets.map((packet) => describer.describe(packet).fields);
    const names = fields.map((record) => record['roce.opcode.name']);
    const known = OPCODES.filter((opcode) => opcode.known).map(({ name }) => name);
    expect(new Set(names.filter((name) => name !== undefined))).toEqual(new Set(known));
    const { names: compared } = await verify(packets, theirs);
    const ours = new Set(fields.flatMap((record) => Object.keys(record)).filter((name) => !name.startsWith('roce.')));
    expect([...ours].filter((name) => !compared.has(name))).toEqual([]);
    for (const layer of ['vlan.', 'arp.', 'icmp.', 'icmpv6.', 'tcp.', 'udp.', 'ipv6.', 'infiniband.cm.rej.']) {
      expect([...compared].filter((name) => name.startsWith(layer)).length, layer).toBeGreaterThan(1);
    }
  });

  it('agrees on what is in tunnels', async () => {
    const inner = frames.filter(({ medium, bytes }, i) => {
      const type = (bytes[12] ?? 0) * 256 + (bytes[13] ?? 0);
      return i % 40 === 0 && medium === Medium.Ethernet && (type === 0x08_00 || type === 0x86_dd);
    });
    const capture = captureOf(
      TUNNEL_WRAPPINGS.filter(({ strange }) => strange === undefined).flatMap(({ name, wrap }) =>
        inner.map((frame) => ({ ...frame, name: `${name}: ${frame.name}`, bytes: wrap(frame.bytes) })),
      ),
    );
    const verdict = await verify(packetsOf(capture), await allTsharkFrames(scratch.file('tunnels.pcapng', capture)));
    expect(verdict.surprises).toEqual([]);
    expect(verdict.roceFrames).toBeGreaterThan(400);
  });

  it('knows into which tunnels tshark does not look', async () => {
    const [frame] = frames;
    const made = TUNNEL_WRAPPINGS.filter(({ strange }) => strange !== undefined).flatMap(({ wrap }) =>
      frame === undefined ? [] : [{ ...frame, bytes: wrap(frame.bytes) }],
    );
    const capture = captureOf(made);
    const verdict = await verify(packetsOf(capture), await allTsharkFrames(scratch.file('unread.pcapng', capture)));
    expect([verdict.surprises, verdict.roceFrames, [...verdict.expected.keys()]]).toEqual([[], 2, ['tunnel-unread']]);
  });

  it('agrees on damaged frames, too', async () => {
    const capture = captureOf(damaged(frames, new Prng(SEED)));
    const verdict = await verify(packetsOf(capture), await allTsharkFrames(scratch.file('damaged.pcapng', capture)));
    expect(verdict.surprises).toEqual([]);
    expect(verdict.frames).toBe(frames.length);
  });

  it('notices every flipped bit that only we have seen and that changes a field', async () => {
    const wrong = packetsOf(captureOf(damaged(frames, new Prng(SEED + 1))));
    const right = packets.map((packet) => new FrameDescriber().describe(packet).fields);
    const describer = new FrameDescriber();
    let noticed = 0;
    const unnoticed = wrong.flatMap((packet, i) => {
      const ours = describer.describe(packet);
      const { differences } = compareFrame({ ours, theirs: theirs[i] ?? {} }, table);
      const before = right[i] ?? {};
      const names = new Set([...Object.keys(before), ...Object.keys(ours.fields)]);
      const changed = [...names].filter((name) => !name.startsWith('roce.') && before[name] !== ours.fields[name]);
      const surprised = differences.some(({ expectation }) => expectation === undefined);
      if (surprised) noticed++;
      return surprised || differences.some(({ field }) => changed.includes(field))
        ? []
        : changed.slice(0, 1).map((name) => `${frames[i]?.name}: ${name}`);
    });
    expect(unnoticed).toEqual([]);
    expect(noticed).toBeGreaterThan(250);
  });

  it('notices every flipped bit that only tshark has seen and that changes one of the fields we have', async () => {
    const capture = captureOf(damaged(frames, new Prng(SEED + 2)));
    const wrong = await allTsharkFrames(scratch.file('theirs.pcapng', capture));
    const describer = new FrameDescriber();
    let noticed = 0;
    const unnoticed = packets.flatMap((packet, i) => {
      const ours = describer.describe(packet);
      const before = compareFrame({ ours, theirs: theirs[i] ?? {} }, table);
      const after = compareFrame({ ours, theirs: wrong[i] ?? {} }, table);
      const surprised = after.differences.some(({ expectation }) => expectation === undefined);
      if (surprised) noticed++;
      const same = JSON.stringify(before.differences) === JSON.stringify(after.differences);
      // Of reliable datagrams tshark reads other bytes than we do, whatever they are.
      return surprised || same || frames[i]?.name.includes(' RD ') ? [] : [frames[i]?.name];
    });
    expect(unnoticed).toEqual([]);
    expect(noticed).toBeGreaterThan(250);
  });

  it('takes the packet that an ICMP error quotes for no packet of its own', async () => {
    const quoted = roceFrame({
      from: station(1, 6),
      to: station(2, 6),
      opcode: 0x11,
      destQpn: 5,
      psn: 6,
      headers: aeth(0x1f, 1),
    });
    const body = Uint8Array.of(1, 4, 0, 0, 0, 0, 0, 0, ...quoted.subarray(14));
    const bytes = new Uint8Array(54 + body.length);
    bytes.set(quoted.subarray(0, 54));
    const view = new DataView(bytes.buffer);
    // Payload length and next header of IPv6.
    view.setUint16(18, body.length);
    view.setUint8(20, 58);
    bytes.set(body, 54);
    const capture = captureOf([{ name: 'port unreachable', medium: Medium.Ethernet, bytes }]);
    const { surprises } = await verify(
      packetsOf(capture),
      await allTsharkFrames(scratch.file('quoted.pcapng', capture)),
    );
    expect(surprises).toEqual([]);
  });

  it('tells of a frame that only one of the two has', async () => {
    const short = await verify(packets.slice(0, 3), theirs.slice(0, 2));
    expect(short.surprises).toEqual(['3 frame.number 3 | ']);
    const long = await verify(packets.slice(0, 2), theirs.slice(0, 3));
    expect(long.surprises).toEqual(['3 frame.number undefined | 3']);
  });

  it('tells of a field of the InfiniBand tree that we do not print', async () => {
    const [first = {}] = theirs;
    const verdict = await verify(packets.slice(0, 1), [{ ...first, 'infiniband.new.field': '7' }]);
    expect(verdict.surprises).toEqual(['1 infiniband.new.field undefined | 7']);
  });

  it('calls a row no longer needed when tshark is right', async () => {
    const i = frames.findIndex(({ name }) => name === 'ipv4 CM REQ');
    const describer = new FrameDescriber();
    const { fields } = describer.describe(packets[i] as CapturedPacket);
    const right = Object.fromEntries(
      ['prim', 'alt'].flatMap((which) =>
        ['flowlabel', 'pktrate', 'reserved0'].map((name) => {
          const field = `infiniband.cm.req.${which}_${name}`;
          return [field, `${fields[field] ?? 0}`];
        }),
      ),
    );
    const verdict = await verify(packets.slice(i, i + 1), [{ ...theirs[i], ...right }]);
    expect(verdict.surprises).toEqual([]);
    expect([...verdict.noLongerNeeded]).toEqual([
      ['cm-req-prim-flow-label', 1],
      ['cm-req-alt-flow-label', 1],
    ]);
  });

  it('agrees on a capture that is cut behind any byte', async () => {
    const cut = [...Array(130).keys()].map((i) => ({ frame: frames[(i * 37) % frames.length] as MadeFrame, keep: i }));
    const capture = cutCapture(cut);
    const verdict = await verify(packetsOf(capture), await allTsharkFrames(scratch.file('cut.pcapng', capture)));
    expect(verdict.surprises).toEqual([]);
    expect(verdict.frames).toBe(cut.length);
  });

  it('has rows with ids of their own, and words in each', () => {
    expect(new Set(EXPECTATIONS.map(({ id }) => id)).size).toBe(EXPECTATIONS.length);
    for (const { id, tshark, truth, source, fields } of EXPECTATIONS) {
      expect([id, tshark.length > 10, truth.length > 10, source.length > 0, fields.length > 0]).toEqual([
        id,
        true,
        true,
        true,
        true,
      ]);
    }
  });
});

const EXPECTED_OF_GOOD_FRAMES = [
  ...['atomic-write-as-bytes', 'atomic-write-unread', 'cm-req-alt-flow-label', 'cm-req-gid-form'],
  ...['cm-req-prim-flow-label', 'cm-req-sap', 'cnp-as-bytes', 'cnp-unread', 'flush-as-bytes', 'flush-unread'],
  ...['payload-of-header-opcode', 'payload-with-pad', 'rd-offsets', 'reserved-bytes', 'xrc-as-bytes', 'xrc-unread'],
];
