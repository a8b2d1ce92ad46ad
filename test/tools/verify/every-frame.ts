/**
 * One frame at least of every kind that this project writes, by its own encoders and with values drawn from a seed:
 * every opcode with every header, over IPv4 and IPv6, with and without a VLAN tag and an Ethernet header, all messages
 * of connection management, and what is around RoCE: `other-frames.ts`.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { IpAddress as Address, parseMac } from '../../../packets/address.ts';
import { writeAeth } from '../../../packets/aeth.ts';
import { writeAtomicAckEth } from '../../../packets/atomic-ack-eth.ts';
import { writeAtomicEth } from '../../../packets/atomic-eth.ts';
import { type Bit, BTH_BYTES, writeBth, writeBthCongestion } from '../../../packets/bth.ts';
import {
  CmAttribute,
  type CmKind,
  type CmMessage,
  readCmMessage,
  writeCmMad,
  writeIpCmHeader,
} from '../../../packets/cm/index.ts';
import { CNP_BYTES, writeCnp } from '../../../packets/cnp.ts';
import { writeDeth } from '../../../packets/deth.ts';
import { writeFeth } from '../../../packets/feth.ts';
import { Medium } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { HeaderTemplate, type PathSpec } from '../../../packets/header-template.ts';
import { writeIeth } from '../../../packets/ieth.ts';
import { writeImmDt } from '../../../packets/imm-dt.ts';
import { GSI_QKEY, GSI_QPN, MAD_BYTES } from '../../../packets/mad.ts';
import { HEADER_BYTES, type HeaderName, OPCODES, Op, type OpcodeInfo, opcodeInfo } from '../../../packets/opcode.ts';
import { writeRdeth } from '../../../packets/rdeth.ts';
import { writeReth } from '../../../packets/reth.ts';
import { rxeFlushIcrc } from '../../../packets/rxe-flush-icrc.ts';
import { writeXrceth } from '../../../packets/xrceth.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { otherFrames } from './other-frames.ts';

export interface MadeFrame {
  /** What it is, in words. */
  readonly name: string;
  /** Ethernet, or bare IP. */
  readonly medium: Medium;
  readonly bytes: Uint8Array;
}

/** All of them; equal seeds give equal bytes. */
export function everyFrame(seed: number): MadeFrame[] {
  const prng = new Prng(seed);
  return [
    ...PATHS.flatMap(([name, path]) => roceFrames(name, path, prng.fork(name))),
    ...otherFrames(prng.fork('other')),
  ];
}

const ends = (source: string, destination: string): { source: IpAddress; destination: IpAddress } => ({
  source: Address.parse(source),
  destination: Address.parse(destination),
});

const COMMON = {
  medium: Medium.Ethernet,
  sourceMac: parseMac('02:00:00:00:00:0a'),
  destMac: parseMac('02:00:00:00:00:0b'),
  ...ends('192.0.2.1', '192.0.2.2'),
  trafficClass: (26 << 2) | 2,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc0_de,
} satisfies PathSpec;
const V6 = { ...ends('2001:db8::1', 'fe80::2:3'), flowLabel: 0xa_bc_de };

const PATHS: readonly (readonly [string, PathSpec])[] = [
  ['ipv4', COMMON],
  ['ipv6', { ...COMMON, ...V6, trafficClass: (48 << 2) | 3 }],
  ['ipv4 vlan', { ...COMMON, vlanTci: (5 << 13) | 0x10_00 | 42, trafficClass: 3 }],
  ['ipv6 vlan', { ...COMMON, ...V6, vlanTci: 1 }],
  ['bare ipv4', { ...COMMON, medium: Medium.Ip }],
  ['bare ipv6', { ...COMMON, ...V6, medium: Medium.Ip }],
];

function roceFrames(path: string, spec: PathSpec, prng: Prng): MadeFrame[] {
  const template = new HeaderTemplate(spec);
  const made: MadeFrame[] = [];
  const add = (what: string, write: Write) => {
    made.push({ name: `${path} ${what}`, medium: spec.medium, bytes: frameOf(template, prng, write) });
  };
  for (const info of OPCODES) {
    if (!info.known) continue;
    for (const payload of info.code === Op.Cnp ? [] : [0, 1, 64]) {
      add(`${info.name} ${payload}`, (view, at) => writePacket(view, at, info, payload, prng));
    }
  }
  for (const becn of [0, 1] as const) {
    add(`CNP becn ${becn}`, (view, at) => {
      writeCnp(view, at, 0xff_ff, prng.below(1 << 24), becn);
      return at + CNP_BYTES;
    });
  }
  for (let syndrome = 0; syndrome < 256; syndrome += path === 'ipv4' ? 1 : 37) {
    add(`ACK syndrome ${syndrome}`, (view, at) => {
      writeRandomBth(view, at, Op.Acknowledge, 0, prng);
      writeAeth(view, at + BTH_BYTES, syndrome, prng.below(1 << 24));
      return at + BTH_BYTES + HEADER_BYTES.AETH;
    });
  }
  for (const message of cmMessages(prng)) {
    add(`CM ${message.kind}`, (view, at) => writeMad(view, at, message, prng));
  }
  made.push(rxeFlush(path, spec, prng));
  return made;
}

type Write = (view: DataView, bth: number) => number;

function frameOf(template: HeaderTemplate, prng: Prng, write: Write): Uint8Array {
  const writer = new FrameWriter(1, 1024);
  writer.nextIpId = 1 + prng.below(0xff_ff);
  const end = write(writer.view, writer.begin(template));
  writer.end(template, end);
  return writer.bytes.slice(0, writer.lengths[0]);
}

/** A packet of an opcode with all its headers; returns where its pad ends. */
function writePacket(view: DataView, bth: number, { code, headers }: OpcodeInfo, payload: number, prng: Prng): number {
  const pad = -payload & 3;
  writeRandomBth(view, bth, code, pad, prng);
  let at = bth + BTH_BYTES;
  for (const header of headers) {
    WRITERS[header](view, at, prng);
    at += HEADER_BYTES[header];
  }
  for (let i = 0; i < payload; i++) view.setUint8(at + i, prng.below(256));
  return at + payload + pad;
}

function writeRandomBth(view: DataView, at: number, opcode: number, pad: number, prng: Prng): void {
  const bit = (): Bit => (prng.chance(0.5) ? 1 : 0);
  // Queue pair 1 would make a MAD of a datagram, and a tenth of the packets have the QPN and PSN that break sign
  // handling.
  const qpn = prng.chance(0.1) ? 0xff_ff_ff : 2 + prng.below(0xff_ff_00);
  const psn = prng.chance(0.1) ? 0xff_ff_ff : prng.below(1 << 24);
  writeBth(view, at, opcode, bit(), bit(), pad, prng.below(1 << 16), qpn, bit(), psn);
  writeBthCongestion(view, at, bit(), bit());
}

const WRITERS: Readonly<Record<HeaderName, (view: DataView, at: number, prng: Prng) => void>> = {
  RETH: (view, at, prng) => writeReth(view, at, prng.u32(), prng.u32(), prng.u32(), prng.u32()),
  AtomicETH: (view, at, prng) => {
    const [a, b, c, d, e, f, g] = Array.from({ length: 7 }, () => prng.u32());
    writeAtomicEth(view, at, a ?? 0, b ?? 0, c ?? 0, d ?? 0, e ?? 0, f ?? 0, g ?? 0);
  },
  AETH: (view, at, prng) => writeAeth(view, at, prng.below(256), prng.below(1 << 24)),
  AtomicAckETH: (view, at, prng) => writeAtomicAckEth(view, at, prng.u32(), prng.u32()),
  ImmDt: (view, at, prng) => writeImmDt(view, at, prng.u32()),
  IETH: (view, at, prng) => writeIeth(view, at, prng.u32()),
  DETH: (view, at, prng) => writeDeth(view, at, prng.u32(), prng.below(1 << 24)),
  RDETH: (view, at, prng) => writeRdeth(view, at, prng.below(1 << 24)),
  XRCETH: (view, at, prng) => writeXrceth(view, at, prng.below(1 << 24)),
  FETH: (view, at, prng) => writeFeth(view, at, prng.below(16), prng.below(4)),
  CNP: (view, at) => new Uint8Array(view.buffer, at, HEADER_BYTES.CNP).fill(0),
};

/**
 * Each message, its fields being what random bytes mean, so that no bit is left out; a REQ also with the header of RDMA
 * IP CM.
 */
function cmMessages(prng: Prng): CmMessage[] {
  const bytes = new Uint8Array(MAD_BYTES);
  const view = new DataView(bytes.buffer);
  return (Object.keys(CmAttribute) as CmKind[]).flatMap((kind) => {
    for (let i = 0; i < MAD_BYTES; i++) bytes[i] = prng.below(256);
    const message = readCmMessage(view, 0, kind);
    return message.kind === 'REQ' ? [message, ...requests(message)] : [message];
  });
}

/** The ports and addresses that rdma_cm puts in front of the private data. */
function requests(message: CmMessage & { kind: 'REQ' }): CmMessage[] {
  return [COMMON, { ...COMMON, ...V6 }].map(({ source, destination }) => {
    const privateData = message.body.privateData.slice();
    writeIpCmHeader(new DataView(privateData.buffer), 0, { source, sourcePort: 0xbe_ef, destination });
    const path = { ...message.body.primaryPath, localGid: source, remoteGid: destination };
    return { kind: 'REQ', body: { ...message.body, serviceId: 0x01_06_12_34n, primaryPath: path, privateData } };
  });
}

function writeMad(view: DataView, bth: number, message: CmMessage, prng: Prng): number {
  writeBth(view, bth, Op.UdSendOnly, 0, 0, 0, 0xff_ff, GSI_QPN, 0, prng.below(1 << 24));
  writeBthCongestion(view, bth, 0, 0);
  const deth = bth + BTH_BYTES;
  writeDeth(view, deth, GSI_QKEY, GSI_QPN);
  writeCmMad(view, deth + HEADER_BYTES.DETH, (BigInt(prng.u32()) << 32n) | BigInt(prng.u32()), message, prng.u32());
  return deth + HEADER_BYTES.DETH + MAD_BYTES;
}

/** A FLUSH with the ICRC that rdma_rxe wants, which is another. */
function rxeFlush(path: string, spec: PathSpec, prng: Prng): MadeFrame {
  const template = new HeaderTemplate(spec);
  const bytes = frameOf(template, prng, (view, at) => writePacket(view, at, opcodeInfo(Op.Flush), 0, prng));
  const view = new DataView(bytes.buffer);
  const end = bytes.length - 4;
  view.setUint32(end, rxeFlushIcrc(view.getUint32(end, true), bytes, template.length, end), true);
  return { name: `${path} FLUSH as rdma_rxe`, medium: spec.medium, bytes };
}
