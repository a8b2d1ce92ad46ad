// Goal: the words for a frame are right and complete, for real frames, made-up ones and broken ones.
// Method: lines of real rdma_rxe frames written out; headers that rxe never sent, made with the codecs; any bytes.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BROADCAST_MAC, IpAddress } from '../../packets/address.ts';
import { Syndrome, writeAeth } from '../../packets/aeth.ts';
import { ArpOperation, writeArp } from '../../packets/arp.ts';
import { writeAtomicEth } from '../../packets/atomic-eth.ts';
import { type Bit, BTH_BYTES, writeBth, writeBthCongestion } from '../../packets/bth.ts';
import { writeCmMad } from '../../packets/cm/index.ts';
import { writeCnp } from '../../packets/cnp.ts';
import { writeDeth } from '../../packets/deth.ts';
import { writeEthernet } from '../../packets/ethernet.ts';
import { writeFeth } from '../../packets/feth.ts';
import { formatAeth, formatFrame, formatFrameDetails, ipProtocolName } from '../../packets/format.ts';
import { Medium } from '../../packets/frame.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { writeIeth } from '../../packets/ieth.ts';
import { writeImmDt } from '../../packets/imm-dt.ts';
import { Op } from '../../packets/opcode.ts';
import { PFC_FRAME_BYTES, writePfc } from '../../packets/pfc.ts';
import { writeReth } from '../../packets/reth.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';
import { make, PATH, parse, rxeFrame } from './made-frames.ts';

function line(bytes: Uint8Array, medium: Medium = Medium.Ethernet): string {
  const { frame, status, icrcOk } = parse(bytes, medium);
  return formatFrame(frame, status, icrcOk);
}

describe('formatFrame', () => {
  it.each([
    [Op.SendOnly, '10.77.0.2 > 10.77.0.1: RC SEND Only qpn 0x000011 psn 13918763 ackreq len 16'],
    [
      Op.WriteFirst,
      '10.77.0.1 > 10.77.0.2: RC RDMA WRITE First qpn 0x000011 psn 15902204 va 0x0000559a1282d580 rkey 0x00000451 dmalen 3000 len 1024',
    ],
    [
      Op.ReadRequest,
      '10.77.0.1 > 10.77.0.2: RC RDMA READ Request qpn 0x000011 psn 15902200 ackreq va 0x0000559a1282e180 rkey 0x00000580 dmalen 3000',
    ],
    [Op.Acknowledge, '10.77.0.1 > 10.77.0.2: RC Acknowledge qpn 0x000011 psn 13918763 ACK msn 1'],
  ])('says what rxe sends, opcode %i', (opcode, expected) => {
    expect(line(rxeFrame(opcode))).toBe(expected);
  });

  const both = '10.77.0.2 > 10.77.0.1:';
  it.each<[string, Uint8Array, string]>([
    [
      'a NAK',
      make(Op.Acknowledge, (view, at) => writeAeth(view, at, Syndrome.NakSequence, 3)),
      `${both} RC Acknowledge qpn 0x000012 psn 1234 NAK PSN sequence error msn 3`,
    ],
    [
      'a compare-and-swap',
      make(Op.CompareSwap, (view, at) => writeAtomicEth(view, at, 1, 2, 3, 0, 5, 0, 4)),
      `${both} RC CmpSwap qpn 0x000012 psn 1234 va 0x0000000100000002 rkey 0x00000003 compare 4 swap 5`,
    ],
    [
      'a fetch-and-add of a 64-bit number',
      make(Op.FetchAdd, (view, at) => writeAtomicEth(view, at, 0, 2, 3, 0xffffffff, 0xffffffff, 0, 0)),
      `${both} RC FetchAdd qpn 0x000012 psn 1234 va 0x0000000000000002 rkey 0x00000003 add 18446744073709551615`,
    ],
    [
      'immediate data',
      make(Op.SendOnlyImm, (view, at) => writeImmDt(view, at, 0xdead)),
      `${both} RC SEND Only with Immediate qpn 0x000012 psn 1234 imm 0x0000dead len 0`,
    ],
    [
      'an invalidate',
      make(Op.SendOnlyInvalidate, (view, at) => writeIeth(view, at, 0x77)),
      `${both} RC SEND Only with Invalidate qpn 0x000012 psn 1234 invalidate rkey 0x00000077 len 0`,
    ],
    [
      'a flush',
      make(Op.Flush, (view, at) => {
        writeFeth(view, at, 2, 1);
        writeReth(view, at + 4, 0, 16, 3, 64);
      }),
      `${both} RC FLUSH qpn 0x000012 psn 1234 placement 0x2 selectivity 1 va 0x0000000000000010 rkey 0x00000003 dmalen 64`,
    ],
    [
      'a datagram over IPv6',
      make(Op.UdSendOnly, (view, at) => writeDeth(view, at, 0x1111, 0x22), {
        source: IpAddress.parse('fe80::1'),
        destination: IpAddress.parse('fe80::2'),
      }),
      'fe80::1 > fe80::2: UD SEND Only qpn 0x000012 psn 1234 from qpn 0x000022 qkey 0x00001111 len 0',
    ],
    [
      'a congestion notification with BECN',
      make(Op.Cnp, (view, at) => writeCnp(view, at - BTH_BYTES, 0xffff, 0x12, 1)),
      `${both} CNP qpn 0x000012 becn`,
    ],
    [
      'a CE mark',
      make(Op.SendOnly, undefined, { trafficClass: 3 }),
      `${both} RC SEND Only qpn 0x000012 psn 1234 CE len 0`,
    ],
  ])('says %s', (_what, bytes, expected) => {
    expect(line(bytes)).toBe(expected);
  });

  it('says every flag of the BTH and a partition that is not the default', () => {
    const bytes = make(Op.SendOnly, (view, at) => {
      const bit: Bit = 1;
      writeBth(view, at - BTH_BYTES, Op.SendOnly, bit, bit, 0, 0x8001, 0x12, bit, 5);
      writeBthCongestion(view, at - BTH_BYTES, bit, bit);
    });
    expect(line(bytes)).toBe(`${both} RC SEND Only qpn 0x000012 psn 5 ackreq solicited fecn becn pkey 0x8001 len 0`);
  });

  it('says a message of connection management', () => {
    const bytes = make(
      Op.UdSendOnly,
      (view, at) => {
        writeBth(view, at - BTH_BYTES, Op.UdSendOnly, 0, 0, 0, 0xffff, 1, 0, 0);
        writeDeth(view, at, 0x80010000, 1);
        const body = { localCommId: 1, remoteCommId: 2, privateData: new Uint8Array(0) };
        writeCmMad(view, at + 8, 1n, { kind: 'RTU', body });
      },
      {},
      256,
    );
    expect(line(bytes)).toBe(
      `${both} UD SEND Only qpn 0x000001 psn 0 from qpn 0x000001 qkey 0x80010000 CM RTU comm 0x00000001 for 0x00000002 len 256`,
    );
  });

  it('says when the ICRC is wrong and when a frame is malformed, and how', () => {
    const bytes = make(Op.SendOnly, (view, at) => view.setUint32(at, 7), {}, 4);
    const flipped = bytes.slice();
    flipped[60] = (flipped[60] ?? 0) ^ 1;
    expect(line(flipped)).toMatch(/ BAD ICRC$/);
    expect(line(make(0x1f))).toBe(`${both} Unknown (0x1f) qpn 0x000012 psn 1234 malformed: UnknownOpcode`);
    expect(line(bytes.subarray(0, 50))).toBe(`${both} malformed: Truncated`);
    expect(line(bytes.subarray(0, 13))).toBe('malformed: Truncated len 13');
    expect(line(new Uint8Array([0x50]), Medium.Ip)).toBe('malformed: NotIp len 1');
  });

  it('says what is not RoCE, shortly', () => {
    const arp = new Uint8Array(42);
    const view = new DataView(arp.buffer);
    writeEthernet(view, 0, BROADCAST_MAC, PATH.sourceMac, 0x0806);
    const ends = {
      senderMac: PATH.sourceMac,
      senderIp: PATH.source,
      targetMac: PATH.destMac,
      targetIp: PATH.destination,
    };
    writeArp(view, 14, { operation: ArpOperation.Request, ...ends });
    expect(line(arp)).toBe('52:54:00:00:00:02 > ff:ff:ff:ff:ff:ff: ARP who has 10.77.0.1 tell 10.77.0.2');
    writeArp(view, 14, { operation: ArpOperation.Reply, ...ends });
    expect(line(arp)).toBe('52:54:00:00:00:02 > ff:ff:ff:ff:ff:ff: ARP 10.77.0.2 is at 52:54:00:00:00:02');
    view.setUint16(12, 0x88cc);
    expect(line(arp)).toBe('52:54:00:00:00:02 > ff:ff:ff:ff:ff:ff: ethertype 0x88cc len 42');
    view.setUint16(12, 0x8915);
    expect(line(arp)).toBe('52:54:00:00:00:02 > ff:ff:ff:ff:ff:ff: RoCE version 1 len 42');
    const pause = new Uint8Array(PFC_FRAME_BYTES);
    writePfc(new DataView(pause.buffer), 0, PATH.sourceMac, 0b1010, [0, 7, 0, 0, 0, 0, 0, 0]);
    expect(line(pause)).toBe('52:54:00:00:00:02 > 01:80:c2:00:00:01: PFC pause 1: 7 quanta, resume 3');
    const ping = Uint8Array.from([
      ...[0x45, 0, 0, 0x1c, 0, 0x32, 0, 0, 0x40, 1, 0x7c, 0xad, 0x7f, 0, 0, 1, 0x7f, 0, 0, 1],
      ...[8, 0, 0, 0, 0, 7, 0, 9],
    ]);
    expect(line(ping, Medium.Ip)).toBe('127.0.0.1 > 127.0.0.1: ICMP echo request id 7 seq 9');
  });
});

describe('formatAeth', () => {
  it.each([
    [0x1f, 'ACK msn 3'],
    [0x0c, 'ACK credits 12 msn 3'],
    [0x20, 'RNR NAK 655.36 ms msn 3'],
    [0x2c, 'RNR NAK 0.64 ms msn 3'],
    [0x61, 'NAK invalid request msn 3'],
    [0x62, 'NAK remote access error msn 3'],
    [0x63, 'NAK remote operational error msn 3'],
    [0x64, 'NAK invalid RD request msn 3'],
    [0x65, 'NAK code 5 msn 3'],
    [0x40, 'reserved syndrome 0x40 msn 3'],
    [0x9f, 'reserved syndrome 0x9f msn 3'],
  ])('says syndrome %i', (syndrome, expected) => {
    expect(formatAeth(syndrome, 3)).toBe(expected);
  });
});

describe('formatFrameDetails', () => {
  it('has the line first and then every field that frameFields has', () => {
    for (const { hex } of RXE_FRAMES) {
      const bytes = Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
      const { frame, status, icrcOk } = parse(bytes);
      const [first, ...rest] = formatFrameDetails(frame, status, icrcOk).split('\n');
      expect(first).toBe(line(bytes));
      const text = rest.join(' ');
      for (const name of Object.keys(frameFields(frame, status, icrcOk))) {
        expect(text).toMatch(new RegExp(`[ .]${name.split('.').at(-1)} `));
      }
      for (const detail of rest) expect(detail).toMatch(/^ {4,8}\S/);
    }
  });
});

describe('ipProtocolName', () => {
  it('has the names of the totals of roce analyze', () => {
    expect([0, 2, 58, 89].map(ipProtocolName)).toEqual(['IPv6 hop-by-hop', 'IGMP', 'ICMPv6', 'IP protocol 89']);
  });
});

describe('printers', () => {
  it('take any bytes of any medium', () => {
    const good = fc.constantFrom(...RXE_FRAMES.map(({ opcode }) => rxeFrame(opcode)));
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 5 });
    fc.assert(
      fc.property(good, damage, fc.nat(), fc.constantFrom(Medium.Ethernet, Medium.Ip), (whole, hits, cut, medium) => {
        const start = medium === Medium.Ip ? 14 : 0;
        const bytes = whole.slice(start, whole.length - (cut % 4 === 0 ? cut % (whole.length - start) : 0));
        for (const [at, value] of hits) bytes[at % Math.min(bytes.length, 80)] = value;
        const { frame, status, icrcOk } = parse(bytes, medium);
        expect(formatFrame(frame, status, icrcOk)).not.toMatch(/undefined|NaN|\[object/);
        expect(formatFrameDetails(frame, status, icrcOk)).not.toMatch(/undefined|NaN|\[object/);
        expect(Object.values(frameFields(frame, status, icrcOk))).not.toContain(undefined);
      }),
      { numRuns: 500 },
    );
  });
});
