/**
 * Area PKT, first part: what ICRC, lengths and checksums have to be for a packet to exist at all. Every fault is
 * answered by silence. Sources: ref:conformance#PKT-01 to PKT-04, PKT-12 to PKT-14, PKT-19, ref:wire#3.
 */
import { BTH_BYTES, Medium, OPCODES, Op, Service } from 'rocev2/packets';
import { ack, type Draft, type Packet, pattern, request, sendOnly } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import {
  cutTo,
  edit,
  fixIpChecksum,
  flip,
  icrcOf,
  sealAt,
  setIpLength,
  versionOf,
  withTrailer,
  withUdpChecksum,
} from './edits.ts';
import { type MakePacket, RequestSequence, versionsOf } from './line.ts';
import { responder, write } from './responder.ts';

export const PKT_INTEGRITY_CASES: readonly Case[] = [
  { rules: ['PKT-01'], psnSweep: true, run: wrongIcrc },
  { rules: ['PKT-02'], run: variantFields },
  { rules: ['PKT-03'], title: 'most of them', run: (t) => coveredBits(t, isHarmless) },
  {
    rules: ['PKT-03'],
    title: 'the others',
    hazardous: true,
    run: (t) => coveredBits(t, (offset, draft) => !isHarmless(offset, draft)),
  },
  { rules: ['PKT-04'], run: pad },
  { rules: ['PKT-12'], title: 'behind the BTH', hazardous: true, run: truncated },
  { rules: ['PKT-12'], title: 'before it, IPv4', needs: ['ipv4'], hazardous: true, run: (t) => tooShort(t, 4) },
  { rules: ['PKT-12'], title: 'before it, IPv6', needs: ['ipv6'], hazardous: true, run: (t) => tooShort(t, 6) },
  { rules: ['PKT-13'], title: 'near the truth', hazardous: true, run: udpLengths },
  { rules: ['PKT-13'], title: 'far from it', hazardous: true, run: emptyUdp },
  { rules: ['PKT-14'], title: 'behind requests', needs: ['ethernet'], run: trailersOfRequests },
  { rules: ['PKT-14'], title: 'behind ACKs', needs: ['ethernet', 'host-control'], run: trailersOfAcks },
  { rules: ['PKT-19'], title: 'received', run: udpChecksums },
];

async function wrongIcrc(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const good = (psn: number): Packet => sendOnly({ psn, payload: pattern(8), ackReq: true });
    await line.ignores(
      Array.from({ length: 32 }, (_, bit): MakePacket => {
        const spoil = flip(({ icrc }) => icrc + (bit >> 3), bit & 7);
        return (psn) => ({ ...good(psn), spoil, note: `bit ${bit} of the ICRC inverted` });
      }),
    );
    await line.accepts(good);
  }
}

async function variantFields(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const changed = (note: string, change: (draft: Draft) => void): MakePacket =>
      line.write(pattern(9), {
        note,
        spoil: edit((draft) => {
          change(draft);
          fixIpChecksum(draft);
        }),
      });
    const classes = [0x01, 0x02, 0x04, 0xb8, 0xfc].map((value) =>
      changed(`traffic class 0x${value.toString(16)} afterwards`, (draft) => setTrafficClass(draft, value)),
    );
    const hops = [1, 2, 63, 255].map((value) =>
      changed(`hop limit ${value} afterwards`, (draft) =>
        draft.view.setUint8(draft.ip + (version === 4 ? 8 : 7), value),
      ),
    );
    const labels = [0x1, 0x5_5555, 0xf_ffff].map((value) =>
      changed(`flow label 0x${value.toString(16)} afterwards`, ({ view, ip }) =>
        view.setUint32(ip, (view.getUint32(ip) & 0xff_f0_00_00) | value),
      ),
    );
    const bth4 = [0x80, 0x40, 0x3f, 0xff].map((value) =>
      changed(`BTH byte 4 0x${value.toString(16)} afterwards`, ({ view, bth }) => view.setUint8(bth + 4, value)),
    );
    await line.accepts(...classes, ...hops, ...(version === 6 ? labels : []), ...bth4);
    await line.accepts(line.write(pattern(9), { spoil: withUdpChecksum, note: 'UDP checksum afterwards' }));
  }
}

function setTrafficClass(draft: Draft, value: number): void {
  const { view, ip } = draft;
  if (versionOf(draft) === 4) view.setUint8(ip + 1, value);
  else view.setUint32(ip, (view.getUint32(ip) & 0xf0_0f_ff_ff) | (value << 20));
}

/** Every bit that a router must leave alone, one packet each: the IPv4 checksum is made right, the ICRC is not. */
async function coveredBits(t: Tester, wanted: (offset: number, draft: Draft) => boolean): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(5));
    const stimuli: MakePacket[] = [];
    const sample = sampleOf(line.peer, whole(0));
    for (let offset = sample.ip; offset < sample.icrc; offset++) {
      if (!wanted(offset, sample)) continue;
      for (let bit = 0; bit < 8; bit++) {
        if (isVariant(sample, offset, bit)) continue;
        const note = `bit ${bit} of byte ${offset - sample.ip} inverted`;
        const spoil = flip(() => offset, bit);
        stimuli.push((psn) => ({ ...whole(psn), spoil, note }));
      }
    }
    await line.ignores(stimuli);
    await line.accepts(whole);
  }
}

const isHarmless = (offset: number, { bth, udp }: Draft): boolean =>
  offset !== bth && offset !== udp + 4 && offset !== udp + 5;

/** Where things are in the frame of a packet. */
function sampleOf(peer: TesterPeer, packet: Packet): Draft {
  let found: Draft | undefined;
  peer.frame({ ...packet, spoil: edit((draft) => (found = draft)) });
  demand(found !== undefined, 'the tester made no frame');
  return found;
}

function isVariant(draft: Draft, offset: number, bit: number): boolean {
  const { ip, udp, bth } = draft;
  if (offset === bth + 4 || offset === udp + 6 || offset === udp + 7) return true;
  if (versionOf(draft) === 4) return [ip + 1, ip + 8, ip + 10, ip + 11].includes(offset);
  return (offset === ip && bit < 4) || (offset > ip && offset <= ip + 3) || offset === ip + 7;
}

async function pad(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    for (let length = 1; length <= 8; length++) {
      const whole = (psn: number): Packet => sendOnly({ psn, payload: pattern(length), ackReq: true });
      const padBytes = -length & 3;
      const without: MakePacket = (psn) => ({
        ...whole(psn),
        spoil: icrcBeforePad(padBytes),
        note: 'ICRC skips the pad',
      });
      const other: MakePacket = (psn) => ({
        ...whole(psn),
        spoil: flip(({ icrc }) => icrc - 1, 0),
        note: 'pad byte changed afterwards',
      });
      if (padBytes > 0) await line.ignores([without, other]);
      await line.accepts(whole);
    }
  }
}

/** The ICRC of what is before the pad. */
const icrcBeforePad = (padBytes: number) =>
  edit((draft) => {
    const { bytes, view, icrc } = draft;
    const after = bytes.slice();
    sealAt({ ...draft, bytes: after, view: new DataView(after.buffer) }, icrc - padBytes);
    view.setUint32(icrc, new DataView(after.buffer).getUint32(icrc - padBytes));
  });

/**
 * Each opcode with its headers cut short, or with fewer bytes behind them than its pad takes: valid to the last byte
 * otherwise.
 */
async function truncated(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const stimuli: MakePacket[] = [];
  for (const { code, known, headerBytes, service } of OPCODES) {
    if (!known || code === Op.Cnp) continue;
    for (const padBytes of service === Service.Rc ? [0, 1, 2, 3] : [3]) {
      for (let bytes = 0; bytes < BTH_BYTES + headerBytes + padBytes + ICRC; bytes++)
        stimuli.push((psn) => shortened(code, psn, bytes, padBytes));
    }
  }
  await line.ignores(stimuli, 64);
  await line.accepts(line.write(pattern(4)));
}

/** Every opcode that there is or is not, with less than a BTH and an ICRC. */
async function tooShort(t: Tester, version: 4 | 6): Promise<void> {
  const line = await RequestSequence.open(t, { version });
  const stimuli: MakePacket[] = [];
  for (let code = 0; code < 256; code++)
    for (const bytes of [0, 4, 12, 15]) stimuli.push((psn) => shortened(code, psn, bytes, 0));
  await line.ignores(stimuli, 64);
  await line.accepts(line.write(pattern(4)));
}

const shortened = (opcode: number, psn: number, bytes: number, padBytes: number): Packet =>
  request(opcode, {
    ...{ psn, ackReq: true, pad: padBytes, payload: new Uint8Array(8) },
    edit: cutTo(bytes),
    note: `${bytes} bytes behind the UDP header`,
  });

/** The UDP length says something else than the datagram; the ICRC is right by either. */
async function udpLengths(t: Tester): Promise<void> {
  const ethernet = t.dut.station.medium === Medium.Ethernet;
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(8));
    const said = (by: number, note: string): MakePacket =>
      saying(whole, ({ bytes, udp }) => bytes.length - udp + by, note);
    await line.ignores(
      [
        said(-4, 'UDP length 4 less than the datagram, ICRC at the end of the datagram'),
        said(4, 'UDP length 4 more than the datagram, ICRC at the end of the datagram'),
        (psn) => ({
          ...whole(psn),
          spoil: longerDatagram,
          note: 'UDP length 4 less than the datagram, ICRC where UDP ends',
        }),
        ...(ethernet
          ? [
              (psn: number) => ({
                ...whole(psn),
                spoil: shorterDatagram,
                note: 'UDP length 4 more, ICRC where UDP ends',
              }),
            ]
          : []),
      ],
      1,
    );
    await line.accepts(whole);
  }
}

/** A UDP length with no room for a BTH, or none at all. */
async function emptyUdp(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(8));
    await line.ignores(
      [0, 8].map((length) => saying(whole, () => length, `UDP length ${length}`)),
      1,
    );
    await line.accepts(whole);
  }
}

/** The packet with another UDP length, and an ICRC at the end of the datagram that is right for it. */
function saying(whole: MakePacket, length: (draft: Draft) => number, note: string): MakePacket {
  const change = edit((draft) => draft.view.setUint16(draft.udp + 4, length(draft)));
  return (psn) => ({ ...whole(psn), edit: change, note });
}

/** Four bytes more in the IP datagram, behind all that UDP has. */
function longerDatagram(draft: Draft): Uint8Array {
  const bytes = new Uint8Array(draft.bytes.length + 4);
  bytes.set(draft.bytes);
  const longer = { ...draft, bytes, view: new DataView(bytes.buffer) };
  setIpLength(longer, bytes.length);
  sealAt(longer, draft.icrc);
  return bytes;
}

/** The IP datagram ends before the ICRC does. */
const shorterDatagram = edit((draft) => {
  setIpLength(draft, draft.bytes.length - 4);
  sealAt(draft, icrcOf(draft.bytes));
});

async function trailersOfRequests(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version, receives: 64 });
    const send = (length: number): MakePacket => {
      const trailer = { spoil: withTrailer(length), note: `${length} bytes behind the datagram` };
      return (psn) => ({ ...sendOnly({ psn, ackReq: true }), ...trailer });
    };
    await line.accepts(...Array.from({ length: MAX_TRAILER + 1 }, (_, length) => send(length)));
  }
}

async function trailersOfAcks(t: Tester): Promise<void> {
  const ours = await responder(t);
  for (let length = 0; length <= MAX_TRAILER; length++) {
    await ours.post(write(length + 1, 4));
    await ours.sees(length, write(length + 1, 4));
    const answer = ack({ psn: length, msn: length + 1 });
    ours.peer.tx({ ...answer, spoil: withTrailer(length), note: `${length} bytes behind the datagram` });
    await ours.completes([length + 1]);
  }
}

async function udpChecksums(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    for (const length of [0, 1, 2, 3, 100, 256])
      await line.accepts(line.write(pattern(length), { spoil: withUdpChecksum, note: 'a right UDP checksum' }));
  }
}

const ICRC = 4;
/** What brings a frame of 18 bytes of payload to the smallest that Ethernet has. */
const MAX_TRAILER = 46;
