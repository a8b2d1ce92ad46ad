/**
 * Lengths the responder demands of requests: payload against PMTU, against the DMA length, against the receive buffer;
 * pad. Method: one violation per fresh queue pair, next to the legal neighbour.
 */
import { describe, expect, it } from 'vitest';
import { FrameStatus } from '../../packets/frame.ts';
import { QpState } from '../../transport/qp-state.ts';
import {
  ack,
  cut,
  fetchAdd,
  nak,
  type Packet,
  pattern,
  readRequest,
  readResponses,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  sendPackets,
  writeFirst,
  writeLast,
  writeMiddle,
  writeOnly,
  writePackets,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';
import { buildFrame, forge } from './support/wire.ts';

const PMTU = 256;
const IOVA = 0x7f00_0000_0000n;

/** What a single request (after an optional opening) comes to, with a large region and a large receive at hand. */
function verdict(make: (rkey: number) => Packet[]): string {
  const peer = new Peer();
  const mr = peer.region({ length: 16_384 });
  peer.postRecv(1, 16_384);
  const packets = make(mr.rkey);
  peer.rx(...packets);
  const replies = peer.drain();
  if (replies.length === 0) return 'silence';
  const last = replies[replies.length - 1];
  expect(peer.qp.state).toBe(last?.syndrome === 0x1f ? QpState.Rts : QpState.Error);
  return `0x${last?.syndrome?.toString(16)}`;
}

const reth = (rkey: number, length: number) => ({ va: IOVA, rkey, length });

describe('payload length', () => {
  it.each([0, 4, PMTU - 4, PMTU - 1, PMTU + 1, PMTU + 4, 2 * PMTU])(
    'LEN-01 FIRST and MIDDLE carry exactly PMTU bytes, so %i draw 0x61',
    (size) => {
      const payload = pattern(size);
      const full = pattern(PMTU);
      expect(verdict(() => [sendFirst({ psn: 0, payload, ackReq: true })])).toBe('0x61');
      expect(verdict(() => [sendFirst({ psn: 0, payload: full }), sendMiddle({ psn: 1, payload })])).toBe('0x61');
      const far = (rkey: number) => reth(rkey, 3000);
      expect(verdict((rkey) => [writeFirst({ psn: 0, payload, reth: far(rkey) })])).toBe('0x61');
      expect(
        verdict((rkey) => [writeFirst({ psn: 0, payload: full, reth: far(rkey) }), writeMiddle({ psn: 1, payload })]),
      ).toBe('0x61');
    },
  );

  it.each([
    [0, '0x61'],
    [1, '0x1f'],
    [PMTU, '0x1f'],
    [PMTU + 1, '0x61'],
    [PMTU + 4, '0x61'],
  ])('LEN-02 LAST carries 1..PMTU bytes: %i draw %s', (size, outcome) => {
    const payload = pattern(size);
    const full = pattern(PMTU);
    const last = { psn: 1, payload, ackReq: true };
    expect(verdict(() => [sendFirst({ psn: 0, payload: full }), sendLast(last)])).toBe(outcome);
    expect(
      verdict((rkey) => [writeFirst({ psn: 0, payload: full, reth: reth(rkey, PMTU + size) }), writeLast(last)]),
    ).toBe(outcome);
  });

  it.each([
    [0, '0x1f'],
    [1, '0x1f'],
    [PMTU, '0x1f'],
    [PMTU + 1, '0x61'],
    [PMTU + 4, '0x61'],
  ])('LEN-03 ONLY carries 0..PMTU bytes: %i draw %s', (size, outcome) => {
    const payload = pattern(size);
    expect(verdict(() => [sendOnly({ psn: 0, payload, ackReq: true })])).toBe(outcome);
    expect(verdict((rkey) => [writeOnly({ psn: 0, payload, ackReq: true, reth: reth(rkey, size) })])).toBe(outcome);
  });

  it.each([-1, 1])('LEN-04 the bytes of a WRITE equal its DMA length: %i too many draw 0x61', (excess) => {
    expect(
      verdict((rkey) => [writeOnly({ psn: 0, payload: pattern(8 + excess), reth: reth(rkey, 8), ackReq: true })]),
    ).toBe('0x61');
    expect(
      verdict((rkey) => {
        const [first, last] = writePackets({ psn: 0, data: pattern(PMTU + 8 + excess), va: IOVA, rkey });
        if (first === undefined || last === undefined) throw new Error('two packets');
        return [{ ...first, reth: reth(rkey, PMTU + 8) }, last];
      }),
    ).toBe('0x61');
  });

  it('LEN-05 nothing is written past the DMA length', () => {
    const peer = new Peer();
    const mr = peer.region();
    const before = mr.bytes.slice();
    const [a, b, c] = cut(pattern(3 * PMTU, 2), PMTU).map((payload, psn) => ({ psn, payload }));
    if (a === undefined || b === undefined || c === undefined) throw new Error('three pieces');
    peer.rx(writeFirst({ ...a, reth: reth(mr.rkey, PMTU + 1) }), writeMiddle(b), writeLast({ ...c, ackReq: true }));
    peer.expectTx([nak(0x61, { psn: 1, msn: 0 })]);
    expect(mr.bytes.slice(PMTU)).toEqual(before.slice(PMTU));
  });

  it.each([
    [2 ** 31, '0x62'],
    [2 ** 31 + 1, '0x61'],
    [2 ** 32 - 1, '0x61'],
  ])('LEN-06 a DMA length of %i draws %s: the limit is 2^31', (length, outcome) => {
    expect(verdict((rkey) => [writeFirst({ psn: 0, payload: pattern(PMTU), reth: reth(rkey, length) })])).toBe(outcome);
    expect(verdict((rkey) => [readRequest({ psn: 0, reth: reth(rkey, length) })])).toBe(outcome);
  });

  it.each([
    [0, 8, '0x61'],
    [1, 7, '0x61'],
    [2, 6, '0x61'],
    [3, 5, '0x1f'],
    [0, 5, '0x61'],
    [1, 5, '0x61'],
    [2, 5, '0x61'],
  ])('LEN-07 LEN-14 DMA length 5 with pad %i after %i bytes draws %s', (pad, size, outcome) => {
    const payload = pattern(size);
    expect(verdict((rkey) => [writeOnly({ psn: 0, payload, pad, ackReq: true, reth: reth(rkey, 5) })])).toBe(outcome);
  });

  it.each([1, 2, 3])('LEN-14 a SEND whose payload and pad of %i make no whole words draws 0x61', (pad) => {
    expect(verdict(() => [sendOnly({ psn: 0, payload: pattern(8), pad, ackReq: true })])).toBe('0x61');
    expect(verdict(() => [sendOnly({ psn: 0, payload: pattern(8 - pad), pad, ackReq: true })])).toBe('0x1f');
  });

  it.each([1, 2, 3])('LEN-08 FIRST and MIDDLE have no pad: pad %i draws 0x61', (pad) => {
    const payload = pattern(PMTU);
    const full = { psn: 0, payload };
    expect(verdict(() => [sendFirst({ ...full, pad })])).toBe('0x61');
    expect(verdict(() => [sendFirst(full), sendMiddle({ psn: 1, payload, pad })])).toBe('0x61');
    expect(verdict((rkey) => [writeFirst({ ...full, pad, reth: reth(rkey, 1000) })])).toBe('0x61');
    expect(
      verdict((rkey) => [writeFirst({ ...full, reth: reth(rkey, 1000) }), writeMiddle({ psn: 1, payload, pad })]),
    ).toBe('0x61');
    const short = pattern(PMTU - pad);
    expect(verdict(() => [sendFirst({ psn: 0, payload: short, pad })])).toBe('0x61');
  });

  it.each([4, 8, PMTU])('LEN-09 READ REQUEST and ATOMIC carry no payload: %i bytes draw 0x61', (size) => {
    const payload = pattern(size);
    expect(verdict((rkey) => [readRequest({ psn: 0, payload, reth: reth(rkey, 4) })])).toBe('0x61');
    expect(verdict((rkey) => [fetchAdd({ psn: 0, payload, va: IOVA, rkey, add: 1n })])).toBe('0x61');
    const bare = (rkey: number) => [readRequest({ psn: 0, payload: pattern(1), pad: 0, reth: reth(rkey, 4) })];
    expect(verdict(bare)).toBe('0x61');
  });

  it('LEN-10 a SEND longer than its buffer draws 0x61 at the packet that overflows; the receive fails with a length error', () => {
    const one = new Peer();
    one.postRecv(1, 8);
    one.rx(sendOnly({ psn: 0, payload: pattern(9), ackReq: true }));
    one.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
    expect(one.completions()).toEqual(['recv 1 LocLenErr']);

    const three = new Peer();
    const buffer = three.postRecv(1, 2 * PMTU);
    three.postRecv(2);
    three.rx(...sendPackets({ psn: 0, data: pattern(2 * PMTU + 1) }));
    three.expectTx([nak(0x61, { psn: 2, msn: 0 })]);
    expect(buffer.bytes).toEqual(pattern(2 * PMTU));
    expect(three.completions()).toEqual(['recv 1 LocLenErr', 'recv 2 WrFlushErr']);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('LEN-11 pad bytes of a SEND of %i are neither stored nor counted', (size) => {
    const peer = new Peer();
    const buffer = peer.postRecv(1, 16);
    buffer.bytes.fill(0xa5);
    peer.rx(sendOnly({ psn: 0, payload: pattern(size), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(peer.completions()).toEqual([`recv 1 Success Recv ${size} bytes`]);
    expect(buffer.bytes.slice(0, size)).toEqual(pattern(size));
    expect(buffer.bytes.slice(size).every((byte) => byte === 0xa5)).toBe(true);
  });

  it('LEN-12 a SEND of nothing takes a receive, even one without memory', () => {
    const peer = new Peer();
    peer.qp.postRecv({ wrId: 1 });
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(peer.completions()).toEqual(['recv 1 Success Recv 0 bytes']);
  });

  it('LEN-12 a SEND of nothing does not look at the memory of its receive', () => {
    const peer = new Peer();
    peer.keys.deregister(peer.postRecv(1));
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('CVE-2026-46043 a packet with more pad than payload never reaches the queue pair', () => {
    const peer = new Peer();
    for (const packet of [sendOnly({ psn: 0 }), readRequest({ psn: 0, reth: reth(0, 0) }), ack({ psn: 0, msn: 0 })]) {
      const bytes = forge(buildFrame(packet, peer.firstPsn), (view, bth) => view.setUint8(bth + 1, 0x70));
      peer.rxBytes(bytes);
    }
    const status = `status ${FrameStatus.BadPad}`;
    expect(peer.stopped).toEqual([status, status, status]);
    peer.expectUsable(0, 1);
  });
});

const SIZES = [0, 1, 3, 4, 5, 255, 256, 257, 512, 513, 4096, 65_536, 1_048_576];

describe.each(SIZES)('LEN-19 a message of %i bytes', (size) => {
  const data = pattern(size, 3);

  it('arrives by SEND byte for byte', () => {
    const peer = new Peer();
    const buffer = peer.postRecv(1, size);
    peer.rx(...sendPackets({ psn: 0, data }));
    peer.expectTx([ack({ psn: Math.max(0, Math.ceil(size / PMTU) - 1), msn: 1 })]);
    expect(Buffer.compare(buffer.bytes, data)).toBe(0);
    expect(peer.completions()).toEqual([`recv 1 Success Recv ${size} bytes`]);
  });

  it('arrives by WRITE byte for byte, its neighbours untouched', () => {
    const peer = new Peer();
    const mr = peer.region({ length: size + 32 });
    const before = mr.bytes.slice();
    peer.rx(...writePackets({ psn: 0, data, va: mr.iova + 16n, rkey: mr.rkey }));
    peer.expectTx([ack({ psn: Math.max(0, Math.ceil(size / PMTU) - 1), msn: 1 })]);
    expect(Buffer.compare(mr.bytes.subarray(16, 16 + size), data)).toBe(0);
    expect(mr.bytes.slice(0, 16)).toEqual(before.slice(0, 16));
    expect(mr.bytes.slice(16 + size)).toEqual(before.slice(16 + size));
  });

  it('is answered by READ byte for byte', () => {
    const peer = new Peer();
    const mr = peer.region({ length: size + 16 });
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova + 8n, rkey: mr.rkey, length: size } }));
    peer.expectTx(readResponses({ psn: 0, msn: 1, data: mr.bytes.slice(8, 8 + size) }));
  });
});
