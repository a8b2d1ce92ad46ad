/** Packets that a receiver has to refuse, RoCE version 1, what only resembles RoCEv2; packets that a capture cut. */
import { Op, opcodeInfo } from 'rocev2/packets';
import { type Draft, type Edit, type Packet, pattern } from 'rocev2/packets/kit';
import { ETHERNET_BYTES, IPV4_BYTES } from 'rocev2/packets/network';
import { roceV1Frame, station } from '../../symptoms/forge.ts';
import { type CorpusCapture, frame, route, type Vector, vectorFile } from '../capture.ts';
import { hex, ipv4Checksum, join } from '../wrap.ts';
import { packetOf } from './opcodes.ts';

/** Both families. */
export function malformedCaptures(): readonly CorpusCapture[] {
  return [malformed(), lengths(), notRoce(), ...cut()];
}

const SEND: Packet = { opcode: Op.SendOnly, psn: 5, payload: pattern(12) };

function vector(about: string, packet: Partial<Packet>, version: 4 | 6 = 4): Vector {
  return { about, bytes: frame({ ...SEND, ...packet }, route(version)) };
}

function malformed(): CorpusCapture {
  const reserved = [
    0x15,
    0x18,
    0x1b,
    0x1e,
    0x1f,
    0x2c,
    0x36,
    0x40 + 0x1c,
    0x60,
    0x80,
    0x82,
    0xb5,
    0xbc,
    0xc0,
    0xe0,
    0xff,
  ];
  const vectors: readonly Vector[] = [
    ...reserved.map((opcode) =>
      vector(`opcode 0x${opcode.toString(16)}, which is none: the ICRC is right`, { opcode }),
    ),
    vector('transport version 1', { tver: 1 }),
    vector('transport version 15 over IPv6', { tver: 15 }, 6),
    vector('a pad of three bytes where there are none', { payload: new Uint8Array(0), edit: setPad(3) }),
    vector('a pad of three bytes where one byte is left', {
      opcode: Op.SendOnlyImm,
      payload: pattern(1),
      pad: 0,
      edit: setPad(3),
    }),
    headless(Op.WriteOnly, 12),
    headless(Op.WriteFirst, 0),
    headless(Op.Acknowledge, 0),
    headless(Op.CompareSwap, 24),
    headless(Op.UdSendOnly, 4),
    headless(Op.Cnp, 12),
    headless(0xaa, 16),
  ];
  return vectorFile(
    'malformed/bth.pcapng',
    'Opcodes that are none, versions, pads, and headers that do not fit.',
    vectors,
  );
}

const setPad =
  (pad: number) =>
  ({ view, bth }: Draft): undefined => {
    view.setUint8(bth + 1, (view.getUint8(bth + 1) & 0xcf) | (pad << 4));
    return undefined;
  };

/** A packet whose BTH announces more headers than there are bytes; opcode 4 has none, and is changed in the end. */
function headless(opcode: number, bytes: number): Vector {
  const about = `${opcodeInfo(opcode).name} with ${bytes} bytes behind its BTH`;
  const edit = ({ view, bth }: Draft): undefined => void view.setUint8(bth, opcode);
  return vector(about, { payload: pattern(bytes), pad: 0, edit });
}

function lengths(): CorpusCapture {
  const ip = (change: (draft: Draft) => void): Edit => {
    return (draft) => {
      change(draft);
      ipv4Checksum(draft.view, draft.ip);
      return undefined;
    };
  };
  const udpLength = (by: number): Edit => {
    return ({ view, udp }) => void view.setUint16(udp + 4, view.getUint16(udp + 4) + by);
  };
  const totalLength = (by: number) => ip(({ view, ip: at }) => view.setUint16(at + 2, view.getUint16(at + 2) + by));
  const vectors: readonly Vector[] = [
    vector('UDP length 4 more than IP carries', { spoil: udpLength(4) }),
    vector('UDP length 4 less than IP carries', { spoil: udpLength(-4) }),
    vector('UDP length 4 less, over IPv6', { spoil: udpLength(-4) }, 6),
    vector('UDP length 0', { spoil: ({ view, udp }) => void view.setUint16(udp + 4, 0) }),
    vector('IPv4 total length 4 more than the frame has', { spoil: totalLength(4) }),
    vector('IPv4 total length 4 less than the frame has', { spoil: totalLength(-4) }),
    vector('IPv4 total length 19', { spoil: ip(({ view, ip: at }) => view.setUint16(at + 2, 19)) }),
    vector('IPv6 payload length 4 more than the frame has', { spoil: longerIpv6 }, 6),
    vector('IPv4 header checksum wrong', { spoil: ({ view, ip: at }) => void view.setUint16(at + 10, 0x12_34) }),
    vector('IPv4 version 5', { spoil: ({ view, ip: at }) => void view.setUint8(at, 0x55) }),
    vector('IPv4 header length 16', { spoil: ip(({ view, ip: at }) => view.setUint8(at, 0x44)) }),
    { about: 'IPv4 with four bytes of options: RoCEv2 has none, so an ICRC is not defined', bytes: withOptions() },
    vector('an IPv4 fragment, the first', { spoil: ip(({ view, ip: at }) => view.setUint16(at + 6, 0x20_00)) }),
    vector('an IPv4 fragment, the last', { spoil: ip(({ view, ip: at }) => view.setUint16(at + 6, 0x00_02)) }),
    ...[0, 4, 12, 15].map((bytes) => ({
      about: `${bytes} bytes of UDP payload: no room for BTH and ICRC`,
      bytes: short(bytes),
    })),
  ];
  return vectorFile('malformed/lengths.pcapng', 'Lengths and headers below the BTH that are wrong.', vectors);
}

const longerIpv6 = ({ view, ip, udp }: Draft): undefined => {
  view.setUint16(ip + 4, view.getUint16(ip + 4) + 4);
  view.setUint16(udp + 4, view.getUint16(udp + 4) + 4);
  return undefined;
};

/** Three NOPs and the end of the list between the IPv4 header and UDP. */
function withOptions(): Uint8Array {
  const plain = frame(SEND, route(4));
  const at = ETHERNET_BYTES + IPV4_BYTES;
  const bytes = join(plain.subarray(0, at), hex('01010100'), plain.subarray(at));
  const view = new DataView(bytes.buffer);
  view.setUint8(ETHERNET_BYTES, 0x46);
  view.setUint16(ETHERNET_BYTES + 2, view.getUint16(ETHERNET_BYTES + 2) + 4);
  ipv4Checksum(view, ETHERNET_BYTES);
  return bytes;
}

/** A datagram to port 4791 that ends too early. */
function short(payload: number): Uint8Array {
  const at = ETHERNET_BYTES + IPV4_BYTES + 8;
  const bytes = frame(SEND, route(4)).slice(0, at + payload);
  const view = new DataView(bytes.buffer);
  view.setUint16(ETHERNET_BYTES + 2, bytes.length - ETHERNET_BYTES);
  view.setUint16(at - 4, 8 + payload);
  ipv4Checksum(view, ETHERNET_BYTES);
  return bytes;
}

function notRoce(): CorpusCapture {
  const from = station(1, 6, '2001:db8::1');
  const to = station(2, 6, '2001:db8::2');
  const v1 = roceV1Frame({ from, to, opcode: Op.SendOnly, destQpn: 0x12, psn: 1, payload: pattern(12) });
  const plain = frame(SEND, route(4));
  const port = (at: number): Uint8Array => {
    const bytes = plain.slice();
    new DataView(bytes.buffer).setUint16(ETHERNET_BYTES + IPV4_BYTES + at, 4790 + (at === 0 ? 1 : 2));
    return bytes;
  };
  const vectors: readonly Vector[] = [
    { about: 'RoCE version 1: EtherType 0x8915, a GRH and no UDP; not of this corpus, and so is its ICRC', bytes: v1 },
    { about: 'UDP from port 4791 to port 4791', bytes: port(0) },
    { about: 'UDP to port 4792', bytes: port(2) },
    {
      about: 'ARP',
      bytes: hex('ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 c0000201 000000000000 c0000202'),
    },
    { about: 'half an Ethernet header', bytes: plain.slice(0, 7) },
    { about: 'an Ethernet header and nothing else', bytes: plain.slice(0, 14) },
  ];
  return vectorFile('malformed/not-roce.pcapng', 'What is not RoCEv2, or not quite.', vectors);
}

/** The same packets cut after so many bytes, on purpose and at each border. */
function cut(): CorpusCapture[] {
  return ([4, 6] as const).map((version) => {
    const udp = ETHERNET_BYTES + (version === 4 ? 20 : 40);
    const bth = udp + 8;
    const write = frame(packetOf(opcodeInfo(Op.WriteOnlyImm), 9), route(version));
    const borders = [
      4,
      14,
      20,
      udp - 1,
      udp,
      udp + 4,
      bth - 1,
      bth,
      bth + 11,
      bth + 12,
      bth + 27,
      bth + 28,
      bth + 31,
      bth + 32,
    ];
    const sizes = [...borders, bth + 40, write.length - 5, write.length - 4, write.length - 1, write.length];
    const vectors = sizes.map((size) => ({
      about: `WRITE Only with Immediate, ${size} of ${write.length} bytes captured`,
      bytes: write.slice(0, size),
      originalLength: write.length,
    }));
    const about = `A packet over IPv${version} that the capture cut; fields whose bytes are there are expected.`;
    return vectorFile(`cut/ipv${version}.pcapng`, about, vectors);
  });
}
