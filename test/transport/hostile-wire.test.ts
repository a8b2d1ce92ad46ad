/**
 * Bits flipped on the wire: with the ICRC as it was, and with the ICRC made right again (ref:hostile#SEC-19,
 * ref:hostile#SEC-20). Method: every bit of a frame, each on a fresh queue pair; every opcode at every short length.
 */
import { describe, expect, it } from 'vitest';
import { ipv4HeaderChecksum } from '../../packets/checksum.ts';
import { QpState } from '../../transport/qp-state.ts';
import { describePacket, pattern, readRequest, sendOnlyInv, writeOnly } from './support/packets.ts';
import { Peer } from './support/peer.ts';
import { buildFrame, forge } from './support/wire.ts';

const IPV4_TOS = 1;
const IPV4_TTL = 8;
const IPV4_CHECKSUM = 10;
const UDP_CHECKSUM = 26;
const BTH = 28;
const RETH = BTH + 12;

/** A WRITE of 8 bytes behind one executed request, and a region with room on both sides of its target. */
function target() {
  const peer = new Peer({ psn: 0x10_20_30 });
  const mr = peer.region({ length: 64 });
  peer.postRecv(1);
  peer.rx(writeOnly({ psn: 0, reth: { va: 0n, rkey: 0, length: 0 } }));
  const reth = { va: mr.iova + 16n, rkey: mr.rkey, length: 8 };
  const bytes = buildFrame(writeOnly({ psn: 1, reth, payload: pattern(8, 40), ackReq: true }), peer.firstPsn);
  return { peer, mr, bytes, before: mr.bytes.slice() };
}

/**
 * What became of the forged frame, in one letter: E executed as sent, e executed elsewhere or with other words around
 * it, d taken for a duplicate, s sequence NAK, i NAK 0x61, a NAK 0x62, r RNR NAK, - stopped before the queue pair, .
 * dropped by it.
 */
function letter(flip: (view: DataView) => void): string {
  const { peer, mr, bytes, before } = target();
  peer.rxBytes(forge(bytes, flip));
  if (peer.stopped.length > 0) return '-';
  const [reply, ...more] = peer.drain();
  expect(more).toEqual([]);
  const changed = mr.bytes.some((byte, i) => byte !== before[i]);
  if (reply === undefined) return changed ? 'e' : '.';
  const line = describePacket(reply);
  if (line === 'ACK psn+1 msn 2') {
    const exact = Buffer.compare(mr.bytes.subarray(16, 24), pattern(8, 40)) === 0;
    return exact ? 'E' : 'e';
  }
  expect(changed).toBe(false);
  if (line === 'ACK psn+0 msn 1') return 'd';
  if (line === 'NAK 0x60 psn+1 msn 1') return 's';
  if (line === 'NAK 0x61 psn+1 msn 1') return 'i';
  if (line === 'NAK 0x62 psn+1 msn 1') return 'a';
  return line.startsWith('RNR') ? 'r' : line;
}

const bitRow = (at: number): string =>
  Array.from({ length: 8 }, (_, bit) => letter((view) => view.setUint8(at, view.getUint8(at) ^ (0x80 >>> bit)))).join(
    '',
  );

describe('bits flipped with a right ICRC', () => {
  it('SEC-19 every bit of BTH and RETH has the outcome of the golden table', () => {
    const names = [
      ...['opcode', 'SE M pad tver', 'P_Key', 'P_Key', 'FECN BECN', 'QPN', 'QPN', 'QPN', 'AckReq', 'PSN', 'PSN', 'PSN'],
      ...Array.from({ length: 8 }, () => 'VA'),
      ...Array.from({ length: 4 }, () => 'R_Key'),
      ...Array.from({ length: 4 }, () => 'DMA length'),
    ];
    const rows = names.map((name, i) => `${String(i).padStart(2)} ${bitRow(BTH + i)} ${name}`);
    expect(`\n${rows.join('\n')}\n`).toMatchInlineSnapshot(`
      "
       0 --.ii.ii opcode
       1 EEii---- SE M pad tver
       2 E....... P_Key
       3 ........ P_Key
       4 EEEEEEEE FECN BECN
       5 EEEEEEEE QPN
       6 EEEEEEEE QPN
       7 EEEEEEEE QPN
       8 eEEEEEEE AckReq
       9 dssdssss PSN
      10 ssdsssss PSN
      11 ssddsssd PSN
      12 aaaaaaaa VA
      13 aaaaaaaa VA
      14 aaaaaaaa VA
      15 aaaaaaaa VA
      16 aaaaaaaa VA
      17 aaaaaaaa VA
      18 aaaaaaaa VA
      19 aaeeeeee VA
      20 aaaaaaaa R_Key
      21 aaaaaaaa R_Key
      22 aaaaaaaa R_Key
      23 aaaaaaaa R_Key
      24 iiiiiiii DMA length
      25 iiiiiiii DMA length
      26 iiiiiiii DMA length
      27 iiiiiiii DMA length
      "
    `);
  });
});

describe('bits flipped with the ICRC as it was', () => {
  const frames = (): [string, Uint8Array, Peer][] => {
    const { peer, mr, bytes } = target();
    const reth = { va: mr.iova, rkey: mr.rkey, length: 8 };
    return [
      ['WRITE ONLY', bytes, peer],
      ['READ REQUEST', buildFrame(readRequest({ psn: 1, reth }), peer.firstPsn), peer],
      [
        'SEND ONLY with invalidate',
        buildFrame(sendOnlyInv({ psn: 1, inv: mr.rkey, payload: pattern(5) }), peer.firstPsn),
        peer,
      ],
    ];
  };

  /** The bits that routers may change and the ICRC leaves out; the IP header checksum guards the first two. */
  const masked = (at: number): boolean =>
    at === IPV4_TOS ||
    at === IPV4_TTL ||
    at === IPV4_CHECKSUM ||
    at === IPV4_CHECKSUM + 1 ||
    at === UDP_CHECKSUM ||
    at === UDP_CHECKSUM + 1 ||
    at === BTH + 4;

  it('SEC-20 every flip of a covered bit is stopped before the queue pair', () => {
    for (const [name, bytes, peer] of frames()) {
      let flips = 0;
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const at = bit >> 3;
        if (masked(at)) continue;
        const copy = bytes.slice();
        copy[at] = (copy[at] ?? 0) ^ (0x80 >>> (bit & 7));
        // As a switch would leave it: the IP checksum is right, so that nothing but the ICRC can tell.
        const view = new DataView(copy.buffer);
        if (at < 20) view.setUint16(IPV4_CHECKSUM, ipv4HeaderChecksum(view, 0));
        peer.rxBytes(copy);
        flips += 1;
        expect([name, bit, peer.stopped.length]).toEqual([name, bit, flips]);
      }
      peer.stopped.length = 0;
      expect(peer.qp.state).toBe(QpState.Rts);
    }
  });

  it('SEC-20 every flip of a masked bit is accepted, once the IP checksum is right again', () => {
    for (const at of [IPV4_TOS, IPV4_TTL, UDP_CHECKSUM, UDP_CHECKSUM + 1, BTH + 4]) {
      for (let bit = 0; bit < 8; bit++) {
        const { peer, mr, bytes } = target();
        const copy = bytes.slice();
        copy[at] = (copy[at] ?? 0) ^ (0x80 >>> bit);
        const view = new DataView(copy.buffer);
        view.setUint16(IPV4_CHECKSUM, ipv4HeaderChecksum(view, 0));
        peer.rxBytes(copy);
        expect(peer.stopped).toEqual([]);
        expect(mr.bytes.slice(16, 24)).toEqual(pattern(8, 40));
      }
    }
  });

  it('a wrong IP checksum is stopped as such', () => {
    const { peer, bytes } = target();
    const copy = bytes.slice();
    copy[IPV4_CHECKSUM] = (copy[IPV4_CHECKSUM] ?? 0) ^ 1;
    peer.rxBytes(copy);
    expect(peer.stopped).toHaveLength(1);
  });
});

describe('frames of every opcode and length', () => {
  it('4c6f86d CVE-2026-46043 256 opcodes with 0 to 64 bytes behind the BTH and pad 0 to 3 throw nothing and write nothing', () => {
    const peer = new Peer({ psn: 0 });
    const mr = peer.region({ length: 64 });
    const before = mr.bytes.slice();
    const blank = buildFrame({ opcode: 0x11, psn: 0, payload: new Uint8Array(60) }, 0);
    for (let opcode = 0; opcode < 256; opcode++) {
      for (let length = 0; length <= 64; length++) {
        for (let pad = 0; pad < 4; pad++) {
          // A PSN of the future: the shapes are at test, and no queue pair is spent on each of 66,560 of them.
          peer.rxBytes(shaped(blank, opcode, length, pad));
        }
      }
    }
    expect(mr.bytes).toEqual(before);
    expect(peer.qp.state).toBe(QpState.Rts);
    peer.drain();
    peer.expectUsable(0, 1);
  });
});

/** `blank` with another opcode and pad count and `length` bytes between BTH and ICRC, its lengths and ICRC right. */
function shaped(blank: Uint8Array, opcode: number, length: number, pad: number): Uint8Array {
  const bytes = blank.slice(0, RETH + length + 4);
  const view = new DataView(bytes.buffer);
  view.setUint16(2, bytes.length);
  view.setUint16(24, bytes.length - 20);
  view.setUint16(IPV4_CHECKSUM, ipv4HeaderChecksum(view, 0));
  return forge(bytes, () => {
    view.setUint8(BTH, opcode);
    view.setUint8(BTH + 1, 0x40 | (pad << 4));
    view.setUint32(BTH + 8, 0x00_00_00_05);
  });
}
