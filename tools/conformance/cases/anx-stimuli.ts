/**
 * Area ANX, what arrives: headers below the BTH that a RoCEv2 packet does not have, and fields that mean nothing to it.
 * Sources: ref:conformance#ANX, ref:wire#1. What the annex does not foresee has no recipe for its ICRC: stimuli then
 * carry it in each way that an implementation could compute it.
 */
import { OPCODES, Op } from 'rocev2/packets';
import { type Draft, type Edit, type Packet, pattern, readRequest, request, sendOnly } from 'rocev2/packets/kit';
import { ETHERTYPE_AT } from 'rocev2/packets/network';
import type { Case } from '../tester/case.ts';
import { DUT_QKEY } from '../tester/connect.ts';
import { demand, Inconclusive, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { type ByteRange, edit, fixIpChecksum, icrcOver, insertBehindIp, setIpLength, versionOf } from './edits.ts';
import { type MakePacket, type RawFrame, RequestSequence, versionsOf } from './line.ts';
import { roceV1 } from './roce-v1.ts';

export const ANX_STIMULI_CASES: readonly Case[] = [
  { rules: ['ANX-01'], run: bothVersions },
  { rules: ['ANX-03'], title: 'received', needs: ['ipv4'], run: ipv4Options },
  { rules: ['ANX-07'], title: 'more fragments', needs: ['ipv4'], run: moreFragments },
  { rules: ['ANX-07'], title: 'may be fragmented', needs: ['ipv4'], run: withoutDf },
  { rules: ['ANX-08'], title: 'one fragment', needs: ['ipv4'], run: loneFragment },
  { rules: ['ANX-08'], title: 'both fragments', needs: ['ipv4'], run: allFragments },
  { rules: ['ANX-16'], title: 'received', needs: ['ipv6'], run: extensionHeader },
  { rules: ['ANX-20'], title: 'received', run: otherPorts },
  { rules: ['ANX-27'], needs: ['ethernet'], run: etherTypes },
  { rules: ['ANX-29'], run: congestionBits },
  { rules: ['ANX-33'], title: 'known opcodes', run: (t) => toQp0(t, true) },
  { rules: ['ANX-33'], title: 'unknown opcodes', hazardous: true, run: (t) => toQp0(t, false) },
  { rules: ['ANX-41'], needs: ['ethernet'], run: otherProtocol },
];

/** A SEND, a WRITE and a READ over each. */
async function bothVersions(t: Tester): Promise<void> {
  for (const version of [4, 6] as const) {
    if (t.dut.addresses.every(({ address }) => address.version !== version))
      throw new NotApplicable(`the device has no IPv${version} address`);
    const line = await RequestSequence.open(t, { version });
    const payload = pattern(100);
    await line.accepts((psn) => sendOnly({ psn, payload, ackReq: true }), line.write(payload));
    line.peer.tx(readRequest({ psn: line.psn, reth: line.reth(100) }));
    await line.peer.rx({ opcode: Op.ReadResponseOnly, psn: line.psn, payload });
  }
}

async function ipv4Options(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { version: 4 });
  const whole = line.write(pattern(8));
  const recipes = ['over all', 'without the options', 'over the first 28 bytes'] as const;
  await line.ignores(
    recipes.map(
      (recipe, i): MakePacket =>
        (psn) => ({ ...whole(psn), spoil: withOptions(i), note: `IHL 6, ICRC ${recipe}` }),
    ),
    1,
  );
  await line.accepts(whole);
}

/**
 * Four bytes of no operation. The last recipe is that of a device that copies a header of 20 bytes and a UDP header
 * from where the IP header begins.
 */
const withOptions =
  (recipe: number): Edit =>
  (draft) => {
    const { bytes, view, ip, udp, bth, icrc } = insertBehindIp(draft, Uint8Array.of(1, 1, 1, 1));
    bytes[ip] = 0x46;
    view.setUint16(ip + 2, bytes.length - ip);
    view.setUint16(ip + 10, 0);
    view.setUint16(ip + 10, checksumOf(view, ip, 24));
    const checksum = recipe === 2 ? ip + 26 : udp + 6;
    const masked = [ip + 1, ip + 8, ip + 10, ip + 11, checksum, checksum + 1, bth + 4];
    icrcOver(bytes, covered(recipe, draft.udp - ip, { ip, udp, bth, icrc }), masked, icrc);
    return bytes;
  };

/**
 * What an ICRC covers: all; the IP header of `header` bytes without what was put behind it; or the first bytes as if
 * UDP came next.
 */
function covered(recipe: number, header: number, at: Pick<Draft, 'ip' | 'udp' | 'bth' | 'icrc'>): readonly ByteRange[] {
  const { ip, udp, bth, icrc } = at;
  if (recipe === 0) return [[ip, icrc]];
  return recipe === 1
    ? [
        [ip, ip + header],
        [udp, icrc],
      ]
    : [
        [ip, ip + header + 8],
        [bth, icrc],
      ];
}

function checksumOf(view: DataView, at: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i += 2) sum += view.getUint16(at + i);
  while (sum > 0xff_ff) sum = (sum & 0xff_ff) + (sum >>> 16);
  return ~sum & 0xff_ff;
}

async function extensionHeader(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { version: 6 });
  const whole = line.write(pattern(8));
  const recipes = ['over all', 'without the options', 'over the first 48 bytes'] as const;
  await line.ignores(
    recipes.map(
      (recipe, i): MakePacket =>
        (psn) => ({ ...whole(psn), spoil: withExtension(i), note: `destination options, ICRC ${recipe}` }),
    ),
    1,
  );
  await line.accepts(whole);
}

/** Destination options that are all padding, eight bytes. */
const withExtension =
  (recipe: number): Edit =>
  (draft) => {
    const longer = insertBehindIp(draft, Uint8Array.of(17, 0, 1, 4, 0, 0, 0, 0));
    const { bytes, view, ip, udp, bth, icrc } = longer;
    bytes[ip + 6] = 60;
    view.setUint16(ip + 4, bytes.length - ip - 40);
    const checksum = recipe === 2 ? ip + 46 : udp + 6;
    // The first byte has the version in its upper half, which is 6: with ones below 0x6f, and that is what is put there
    // meanwhile.
    const first = bytes[ip] ?? 0;
    bytes[ip] = first | 0x0f;
    const masked = [ip + 1, ip + 2, ip + 3, ip + 7, checksum, checksum + 1, bth + 4];
    icrcOver(bytes, covered(recipe, draft.udp - ip, { ip, udp, bth, icrc }), masked, icrc);
    bytes[ip] = first;
    return bytes;
  };

const withFlags = (flags: number): Edit => edit(({ view, ip }) => view.setUint16(ip + 6, flags));

async function moreFragments(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { version: 4 });
  const whole = line.write(pattern(8));
  await line.ignores(
    [0x20_00, 0x60_00].map(
      (flags): MakePacket =>
        (psn) => ({ ...whole(psn), edit: withFlags(flags), note: 'MF' }),
    ),
  );
  await line.accepts(whole);
}

/** A packet that routers might have fragmented, and did not, does no harm: a device may accept it. */
async function withoutDf(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { version: 4 });
  const { peer } = line;
  const packet = { ...line.write(pattern(8))(0), edit: withFlags(0), note: 'DF clear' };
  peer.tx(packet);
  const answer = await peer.take(t.dut.quietNs);
  if (answer === undefined) return line.ignored([]);
  demand(
    // The low five bits are credits, or say that there are none.
    answer.packet.opcode === Op.Acknowledge && (answer.packet.syndrome ?? 0xff) < 0x20,
    'a packet without DF drew no plain ACK',
  );
  t.note('a packet that may be fragmented is accepted');
}

async function loneFragment(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { version: 4 });
  const whole = line.write(pattern(8));
  const offsets = [1, 3, 0x1f_ff].flatMap((offset) => [offset, offset | 0x20_00]);
  await line.ignores(
    offsets.map(
      (flags): MakePacket =>
        (psn) => ({ ...whole(psn), edit: withFlags(flags), note: 'fragment offset not 0' }),
    ),
  );
  await line.accepts(whole);
}

/**
 * A packet in two fragments that a host could put together again; the ICRC is right for what it was, or for what that
 * would be.
 */
async function allFragments(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { version: 4 });
  for (const flags of [0x40_00, 0]) {
    const packet = { ...line.write(pattern(40))(line.psn), edit: withFlags(flags) };
    let draft: Draft | undefined;
    const frame = line.peer.frame({ ...packet, spoil: edit((one) => (draft = one)) });
    if (draft === undefined) throw new Inconclusive('the tester made no frame');
    const cut = draft.udp + FIRST_FRAGMENT;
    const rest = Uint8Array.from([...frame.subarray(0, draft.udp), ...frame.subarray(cut)]);
    const first = fragment(draft, frame.slice(0, cut), flags | 0x20_00);
    const second = fragment(draft, rest, flags | (FIRST_FRAGMENT / 8));
    const raw = (bytes: Uint8Array, which: string): RawFrame => ({
      frame: bytes,
      note: `${which} fragment of a WRITE Only`,
    });
    await line.ignored([raw(first, 'first'), raw(second, 'last')]);
  }
  await line.accepts(line.write(pattern(8)));
}

function fragment(whole: Draft, bytes: Uint8Array, flags: number): Uint8Array {
  const draft = { ...whole, bytes, view: new DataView(bytes.buffer) };
  draft.view.setUint16(draft.ip + 6, flags);
  setIpLength(draft, bytes.length);
  fixIpChecksum(draft);
  return bytes;
}

async function otherPorts(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(8));
    await line.ignores(
      [4790, 4792, 4789, 1, 0xff_ff].map((port): MakePacket => {
        const change = edit(({ view, udp }) => view.setUint16(udp + 2, port));
        return (psn) => ({ ...whole(psn), edit: change, note: `UDP port ${port}` });
      }),
    );
    await line.accepts(whole);
  }
}

async function etherTypes(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(8));
    const type = version === 4 ? 0x86_dd : 0x08_00;
    const change = edit(({ view }) => view.setUint16(ETHERTYPE_AT, type));
    const nibble = edit((draft) => {
      const other = versionOf(draft) === 4 ? 0x65 : 0x40;
      draft.bytes[draft.ip] = other;
    });
    await line.ignores([
      (psn) => ({ ...whole(psn), spoil: change, note: `IPv${version} behind EtherType 0x${type.toString(16)}` }),
      (psn) => ({ ...whole(psn), edit: nibble, note: 'another version in the header' }),
    ]);
    await line.accepts(whole);
  }
}

async function congestionBits(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const all = ([0, 1] as const).flatMap((becn) => ([0, 1] as const).map((fecn) => ({ becn, fecn })));
  for (const bits of all) {
    await line.accepts(line.write(pattern(8), bits), (psn) => ({ ...sendOnly({ psn, ackReq: true }), ...bits }));
    line.peer.tx({ ...readRequest({ psn: line.psn, reth: line.reth(8) }), ...bits });
    await line.peer.rx({ opcode: Op.ReadResponseOnly, psn: line.psn, payload: pattern(8), msn: line.msn + 1 });
    line.psn++;
    line.msn++;
  }
}

async function toQp0(t: Tester, known: boolean): Promise<void> {
  const line = await RequestSequence.open(t);
  const { va, rkey } = line.peer.region;
  const { strays } = t.dut.station;
  const before = strays.length;
  const codes = OPCODES.filter((info) => info.known === known).map(({ code }) => code);
  const payload = pattern(64);
  const make = (code: number, psn: number): Packet =>
    request(code, {
      ...{ psn, ackReq: true, payload, destQpn: 0, reth: line.reth(64), imm: 1, inv: rkey, qkey: DUT_QKEY },
      ...{
        srcQpn: line.peer.qpn,
        atomic: { va, rkey, swapAdd: 1n, compare: 0n },
        syndrome: 0x1f,
        msn: 0,
        original: 0n,
      },
    });
  await line.ignores(
    codes.map(
      (code): MakePacket =>
        (psn) =>
          make(code, psn),
    ),
  );
  await line.accepts(line.write(pattern(8)));
  const answers = strays.slice(before).filter(({ destQpn }) => destQpn === 0);
  demand(answers.length === 0, `${answers.length} packets came for queue pair 0`);
}

async function otherProtocol(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const makes: MakePacket[] = [line.write(pattern(8)), (psn) => sendOnly({ psn, payload: pattern(8), ackReq: true })];
    await line.ignored(
      makes.map((make) => ({ frame: roceV1(line.peer, make(0)), note: 'the same in RoCE, EtherType 0x8915' })),
    );
    await line.accepts(line.write(pattern(8)));
  }
}

/** Bytes of UDP and what follows in the first of two fragments: a multiple of eight. */
const FIRST_FRAGMENT = 24;
