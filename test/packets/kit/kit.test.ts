// Goal: what the kit builds is what the parser and the kit itself read back, right or wrong, and prints in words.
// Method: a packet of every opcode over both IP versions; one mistake at a time; frames of rdma_rxe, read and built
// again byte for byte.

import { describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../../packets/address.ts';
import { defined } from '../../../packets/defined.ts';
import { ETHERNET_BYTES, readEthernet } from '../../../packets/ethernet.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { buildFrame, type Route } from '../../../packets/kit/build.ts';
import {
  ack,
  atomicAck,
  cnp,
  compareSwap,
  cut,
  datagram,
  describePacket,
  fetchAdd,
  flush,
  isResponse,
  marked,
  nak,
  type Packet,
  pattern,
  readRequest,
  readResponses,
  request,
  rnrNak,
  sendOnly,
  sendOnlyImm,
  sendOnlyInv,
  sendPackets,
  uc,
  writeOnly,
  writePackets,
  xrc,
} from '../../../packets/kit/packet.ts';
import { describeSighting, packetOf, relativeTo, type Sighting, sightingOf } from '../../../packets/kit/sighting.ts';
import { type HeaderName, OPCODES, Op, OpFlag, opcodeInfo } from '../../../packets/opcode.ts';
import { RXE_FRAMES } from '../../vectors/rxe-frames.ts';
import { fromHex, toHex, viewOf } from '../support.ts';

const QPN = 0x12_34_56;
const FIRST_PSN = 0xff_ff_f0;

const V4: Route = {
  medium: Medium.Ethernet,
  sourceMac: parseMac('02:00:00:00:00:01'),
  destMac: parseMac('02:00:00:00:00:02'),
  source: IpAddress.parse('10.0.0.1'),
  destination: IpAddress.parse('10.0.0.2'),
  trafficClass: 0b10,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc0_01,
};
const V6: Route = {
  ...V4,
  source: IpAddress.parse('2001:db8::1'),
  destination: IpAddress.parse('2001:db8::2'),
  flowLabel: 0x1_23_45,
};

/** What a packet says in each extended header; the reserved ones (RDETH, CNP) are zeros and not part of a packet. */
const FIELDS: Readonly<Record<HeaderName, Partial<Packet>>> = {
  RDETH: {},
  CNP: {},
  DETH: { qkey: 0x80_01_00_00, srcQpn: 0xab_cd_ef },
  XRCETH: { srqn: 0x65_43_21 },
  FETH: { feth: { placement: 2, selectivity: 1 } },
  RETH: { reth: { va: 0xfe_dc_ba_98_76_54_32_10n, rkey: 0xff_ff_ff_fe, length: 0x80_00_00_00 } },
  AETH: { syndrome: 0x63, msn: 0xff_ff_fe },
  AtomicETH: {
    atomic: { va: 8n, rkey: 7, swapAdd: 0xff_ff_ff_ff_ff_ff_ff_ffn, compare: 0x01_23_45_67_89_ab_cd_efn },
  },
  AtomicAckETH: { original: 0x80_00_00_00_00_00_00_01n },
  ImmDt: { imm: 0xde_ad_be_ef },
  IETH: { inv: 0xca_fe_f0_0d },
};

function parsed(bytes: Uint8Array): { readonly frame: Frame; readonly status: FrameStatus } {
  const frame = new Frame();
  return { frame, status: parseFrame(bytes, viewOf(bytes), 0, bytes.length, Medium.Ethernet, frame) };
}

function seen(packet: Packet, route: Route = V4): Sighting {
  const { frame, status } = parsed(buildFrame(packet, route, QPN, FIRST_PSN));
  return sightingOf(frame, status, 5);
}

describe('a packet that was built', () => {
  const known = OPCODES.filter((info) => info.known);
  it.each(known.map((info) => [info.name, info] as const))('%s is seen as it was written', (_, info) => {
    const payload = (info.flags & OpFlag.Payload) === 0 ? new Uint8Array(0) : pattern(5);
    const said = Object.assign({}, ...info.headers.map((name) => FIELDS[name]));
    const packet: Packet = { opcode: info.code, psn: 20, ackReq: true, solicited: true, payload, ...said };
    for (const route of [V4, V6]) {
      const sighting = seen(packet, route);
      expect(sighting).toMatchObject({ wellFormed: true, icrc: 'good', psn: 4, destQpn: QPN });
      expect(sighting.packet).toEqual({ ...packet, psn: 4 });
    }
  });

  it('has the addresses, traffic class and ports of its route', () => {
    expect(seen(sendOnly({ psn: 0 }), V4)).toMatchObject({
      timeNs: 5,
      at: { ip: 14, udp: 34, bth: 42, payload: 54, icrc: 54 },
      ip: { version: 4, source: '10.0.0.1', destination: '10.0.0.2', trafficClass: 0b10, hopLimit: 64 },
      ...{ sourcePort: 0xc0_01, opcode: Op.SendOnly, pkey: 0xff_ff, migReq: 1, padCount: 0, fecn: 0, becn: 0 },
    });
    expect(seen(sendOnly({ psn: 0 }), V6)).toMatchObject({
      at: { ip: 14, udp: 54, bth: 62 },
      ip: { version: 6, source: '2001:db8::1', destination: '2001:db8::2' },
    });
  });

  it('has what it says itself in the place of what the route says', () => {
    const packet = sendOnly({
      ...{ psn: 0, payload: pattern(6), pkey: 0x12_34, migReq: 0, destQpn: 9, becn: 1, fecn: 1, pad: 1 },
      ...{ source: '10.9.9.9', destination: '10.8.8.8', sourcePort: 7, trafficClass: 0xb9, hopLimit: 3 },
    });
    const sighting = seen(packet);
    expect(sighting).toMatchObject({
      ip: { source: '10.9.9.9', destination: '10.8.8.8', trafficClass: 0xb9, hopLimit: 3 },
      ...{ sourcePort: 7, pkey: 0x12_34, migReq: 0, destQpn: 9, becn: 1, fecn: 1, padCount: 1 },
      ...{ wellFormed: true, icrc: 'good' },
    });
    // The pad is not a part of the payload, even where it does not align it.
    expect(sighting.packet.payload).toEqual(pattern(6));
  });

  it('has the reserved bits that it asks for, and no others', () => {
    const reserved = buildFrame(sendOnly({ psn: 0, reserved6: 0x3f, reserved7: 0x7f }), V6, QPN, 0);
    const plain = buildFrame(sendOnly({ psn: 0 }), V6, QPN, 0);
    const differing = [...reserved.keys()].filter((at) => reserved[at] !== plain[at] && at < reserved.length - 4);
    // IPv6, so that no identification differs. The BTH begins at byte 62; the ICRC is the last four bytes.
    expect(differing).toEqual([62 + 4, 62 + 8]);
    expect([reserved[66], reserved[70]]).toEqual([0x3f, 0x7f]);
  });
});

describe('a packet that is wrong', () => {
  const flipLast = ({ bytes }: { readonly bytes: Uint8Array }): undefined => {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  };

  it('may have a bad ICRC: `spoil` comes after it was made', () => {
    const sighting = seen(sendOnly({ psn: 0, payload: pattern(8), spoil: flipLast }));
    expect(sighting).toMatchObject({ wellFormed: true, icrc: 'bad' });
    expect(describeSighting(sighting)).toMatch(/ \(ICRC wrong\)$/);
  });

  it.each([
    ['IPv4', V4],
    ['IPv6', V6],
  ])('may be edited over %s: IP checksum and ICRC are made again', (_, route) => {
    const edit: Packet['edit'] = ({ view, ip, bth }) => {
      view.setUint8(bth, Op.WriteMiddle);
      if (route === V4) view.setUint16(ip + 4, 0xbe_ef);
      return undefined;
    };
    const { frame, status } = parsed(buildFrame(sendOnly({ psn: 0, edit }), route, QPN, FIRST_PSN));
    expect(status).toBe(FrameStatus.Ok);
    expect(sightingOf(frame, status, 0)).toMatchObject({ opcode: Op.WriteMiddle, icrc: 'good' });
  });

  it('may say more pad than it has bytes', () => {
    const edit: Packet['edit'] = ({ view, bth }) => {
      view.setUint8(bth + 1, view.getUint8(bth + 1) | 0x30);
      return undefined;
    };
    const { status } = parsed(buildFrame(sendOnly({ psn: 0, edit }), V4, QPN, 0));
    expect(status).toBe(FrameStatus.BadPad);
  });

  it('may be of an opcode that nobody has: opcode and PSN are all that is seen of it', () => {
    const sighting = seen(request(0x1f, { psn: 1, payload: pattern(4) }));
    expect(sighting).toMatchObject({ wellFormed: false, icrc: 'good', at: { payload: -1 } });
    expect(sighting.packet).toEqual({ opcode: 0x1f, psn: 0xff_ff_f1 });
  });

  it('may have another transport version', () => {
    const { status } = parsed(buildFrame(sendOnly({ psn: 0, tver: 3 }), V4, QPN, 0));
    expect(status).toBe(FrameStatus.BadTransportVersion);
    expect(seen(sendOnly({ psn: 0, tver: 3 }))).toMatchObject({ wellFormed: false, icrc: 'bad' });
  });

  it('may be too short for its headers: an opcode changed after the fact', () => {
    const edit: Packet['edit'] = ({ view, bth }) => {
      view.setUint8(bth, Op.ReadRequest);
      return undefined;
    };
    const { frame, status } = parsed(buildFrame(sendOnly({ psn: 0, edit }), V4, QPN, 0));
    expect(status).toBe(FrameStatus.BadHeaderLength);
    expect(sightingOf(frame, status, 0)).toMatchObject({ wellFormed: false, icrc: 'bad', at: { payload: -1 } });
  });

  it('may be cut: `spoil` returns the bytes to send instead', () => {
    const spoil: Packet['spoil'] = ({ bytes, bth }) => bytes.slice(0, bth + 4);
    const bytes = buildFrame(writeOnly({ psn: 0, reth: { va: 0n, rkey: 1, length: 0 }, spoil }), V4, QPN, 0);
    expect(bytes.length).toBe(ETHERNET_BYTES + 20 + 8 + 4);
    expect(parsed(bytes).status).not.toBe(FrameStatus.Ok);
  });
});

describe('PSNs of a script', () => {
  it('count from the first PSN of the direction, requests and responses apart', () => {
    const [requestSeen, responseSeen] = [seen(sendOnly({ psn: 17 })), seen(ack({ psn: -1, msn: 0 }))];
    expect(requestSeen.psn).toBe(1);
    expect(responseSeen.psn).toBe(0xff_ff_ef);
    expect(relativeTo(requestSeen, 0, FIRST_PSN).psn).toBe(17);
    expect(relativeTo(responseSeen, FIRST_PSN, 0).psn).toBe(-1);
    const notification = seen(cnp());
    expect(relativeTo(notification, 1, 2)).toBe(notification.packet);
  });

  it('tell responses from requests by opcode', () => {
    const responses = OPCODES.filter(({ code }) => isResponse(code)).map(({ name }) => name);
    expect(responses.filter((name) => name.startsWith('RC '))).toEqual([
      'RC RDMA READ response First',
      'RC RDMA READ response Middle',
      'RC RDMA READ response Last',
      'RC RDMA READ response Only',
      'RC Acknowledge',
      'RC ATOMIC Acknowledge',
    ]);
  });
});

describe('a message in packets', () => {
  const names = (packets: readonly Packet[]) => packets.map(({ opcode }) => opcodeInfo(opcode).name.replace('RC ', ''));

  it('is one ONLY, or FIRST, MIDDLE and LAST', () => {
    expect(names(sendPackets({ psn: 0, data: pattern(0) }))).toEqual(['SEND Only']);
    expect(names(sendPackets({ psn: 0, data: pattern(600) }))).toEqual(['SEND First', 'SEND Middle', 'SEND Last']);
    const write = { psn: 5, va: 0x1000n, rkey: 3 };
    expect(names(writePackets({ ...write, data: pattern(256) }))).toEqual(['RDMA WRITE Only']);
    const packets = writePackets({ ...write, data: pattern(513), mtu: 512 });
    expect(packets.map(({ psn, ackReq, reth }) => [psn, ackReq, reth?.length])).toEqual([
      [5, false, 513],
      [6, true, undefined],
    ]);
    expect(names(readResponses({ psn: 0, msn: 1, data: pattern(4) }))).toEqual(['RDMA READ response Only']);
    expect(names(readResponses({ psn: 0, msn: 1, data: pattern(513) }))).toEqual([
      'RDMA READ response First',
      'RDMA READ response Middle',
      'RDMA READ response Last',
    ]);
  });

  it('is cut at the MTU, and the last piece is the rest', () => {
    expect(cut(pattern(513), 256).map(({ length }) => length)).toEqual([256, 256, 1]);
    expect(cut(pattern(512), 256).map(({ length }) => length)).toEqual([256, 256]);
    expect(cut(pattern(0), 256).map(({ length }) => length)).toEqual([0]);
  });
});

describe('describePacket', () => {
  it.each([
    [
      sendOnly({ psn: 3, ackReq: true, solicited: true, payload: pattern(3, 0) }),
      'SEND Only psn+3 AckReq SE [00 07 0e]',
    ],
    [sendOnlyImm({ psn: 0, imm: 0x10 }), 'SEND Only with Immediate psn+0 imm 0x10'],
    [sendOnlyInv({ psn: 0, inv: 0x20 }), 'SEND Only with Invalidate psn+0 inv 0x20'],
    [uc(sendOnly({ psn: 0, ackReq: true })), 'UC SEND Only psn+0'],
    [xrc(sendOnly({ psn: 0 }), 0x11), 'XRC SEND Only psn+0 srq 0x11'],
    [readRequest({ psn: -1, reth: { va: 0x10n, rkey: 2, length: 9 } }), 'READ Request psn-1 va 0x10 rkey 0x2 len 9'],
    [fetchAdd({ psn: 0, va: 8n, rkey: 1, add: 5n }), 'FetchAdd psn+0 va 0x8 rkey 0x1 swap/add 5 compare 0'],
    [
      compareSwap({ psn: 0, va: 8n, rkey: 1, compare: 4n, swap: 5n }),
      'CmpSwap psn+0 va 0x8 rkey 0x1 swap/add 5 compare 4',
    ],
    [atomicAck({ psn: 0, msn: 2, original: 7n }), 'ATOMIC Acknowledge psn+0 msn 2 original 7'],
    [ack({ psn: 0, msn: 2 }), 'ACK psn+0 msn 2'],
    [nak(0x05, { psn: 0, msn: 2 }), 'ACK credits 5 psn+0 msn 2'],
    [nak(0x60, { psn: 0, msn: 2 }), 'NAK 0x60 psn+0 msn 2'],
    [rnrNak(12, { psn: 0, msn: 2 }), 'RNR NAK timer 12 psn+0 msn 2'],
    [marked(sendOnly({ psn: 0 })), 'SEND Only psn+0 traffic class 0x3'],
    [sendOnly({ psn: 0, pad: 2, pkey: 0x7f_ff, note: 'cut short' }), 'SEND Only psn+0 pad 2 P_Key 0x7fff (cut short)'],
  ] as const)('%#: %s', (packet, words) => {
    expect(describePacket(packet)).toBe(words);
  });

  it('names the Q_Key of a datagram and the levels of a FLUSH', () => {
    expect(describePacket(datagram({ psn: 0, qkey: 0x11, srcQpn: 4 }))).toMatch(/^UD SEND Only psn\+0 .*0x11/);
    const reth = { va: 0n, rkey: 1, length: 64 };
    expect(describePacket(flush({ psn: 0, reth, placement: 2, selectivity: 1 }))).toContain('type 2 level 1');
  });

  it('prints a long payload by its length, beginning and CRC, so that two that differ print differently', () => {
    const words = describePacket(sendOnly({ psn: 0, payload: pattern(256) }));
    expect(words).toMatch(/^SEND Only psn\+0 \[256 bytes 1f 26 2d 34\.\. crc [0-9a-f]+\]$/);
    expect(describePacket(sendOnly({ psn: 0, payload: pattern(256, 2) }))).not.toBe(words);
  });
});

describe('a frame of rdma_rxe', () => {
  it.each(RXE_FRAMES.map((vector) => [opcodeInfo(vector.opcode).name, vector] as const))(
    '%s has the values that tshark reads, and is built again byte for byte',
    (_, vector) => {
      const original = fromHex(vector.hex);
      const { frame, status } = parsed(original);
      const sighting = sightingOf(frame, status, 0);
      expect(sighting).toMatchObject({ wellFormed: true, icrc: 'good', psn: vector.psn, destQpn: vector.destQpn });
      const packet = packetOf(frame);
      expect(packet).toEqual(sighting.packet);
      expect(packet).toMatchObject({
        ...{ opcode: vector.opcode, ackReq: vector.ackReq === 1, solicited: vector.solicited === 1 },
        ...(vector.aeth ?? {}),
        ...defined({ atomic: vector.atomicEth }),
        ...(vector.atomicAckEth ?? {}),
        ...(vector.deth === undefined ? {} : { qkey: vector.deth.qkey, srcQpn: vector.deth.sourceQpn }),
        ...(vector.immDt === undefined ? {} : { imm: vector.immDt.immDt }),
      });
      if (vector.reth !== undefined) {
        const { va, rkey, dmaLength } = vector.reth;
        expect(packet.reth).toEqual({ va, rkey, length: dmaLength });
      }
      // The identification is the sender's choice, and the ICRC covers it.
      const edit: Packet['edit'] = ({ view, ip }) => {
        view.setUint16(ip + 4, viewOf(original).getUint16(ip + 4));
        return undefined;
      };
      const built = buildFrame(
        { ...packet, migReq: sighting.migReq, edit },
        routeOf(sighting, original),
        vector.destQpn,
        0,
      );
      expect(toHex(built)).toBe(toHex(original));
    },
  );

  function routeOf({ ip, sourcePort }: Sighting, bytes: Uint8Array): Route {
    const { sourceMac, destMac } = readEthernet(viewOf(bytes), 0);
    return {
      ...{ medium: Medium.Ethernet, sourceMac, destMac, flowLabel: 0, sourcePort },
      ...{ source: IpAddress.parse(ip.source), destination: IpAddress.parse(ip.destination) },
      ...{ trafficClass: ip.trafficClass, hopLimit: ip.hopLimit },
    };
  }
});
