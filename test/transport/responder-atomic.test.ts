/**
 * COMPARE SWAP and FETCH ADD at the responder: results, alignment, and repetition without execution.
 * Method: one 64-bit word in a region, read back after each packet.
 */
import { describe, expect, it } from 'vitest';
import { atomicAck, compareSwap, fetchAdd, nak, readOnly, readRequest, writeOnly } from './support/packets.ts';
import { Peer } from './support/peer.ts';

function withWord(value: bigint, options: { maxDestRdAtomic?: number } = {}) {
  const peer = new Peer(options);
  const mr = peer.region({ length: 64 });
  mr.view.setBigUint64(8, value, true);
  const at = { va: mr.iova + 8n, rkey: mr.rkey };
  const word = () => mr.view.getBigUint64(8, true);
  return { peer, mr, at, word };
}

const MAX = 2n ** 64n - 1n;

describe('atomics, responder', () => {
  it('ATM-01 ATM-10 COMPARE SWAP swaps on equality and returns the old value', () => {
    const { peer, at, word } = withWord(1n);
    peer.rx(compareSwap({ psn: 0, ...at, compare: 1n, swap: 2n }));
    peer.expectTx([atomicAck({ psn: 0, msn: 1, original: 1n })]);
    expect(word()).toBe(2n);
  });

  it.each([
    [1n, 9n],
    [0x1_0000_0000n, 0n],
    [0x1_0000_0000n, 0x2_0000_0000n],
  ])('ATM-02 COMPARE SWAP of %i against %i does not swap and returns the value', (value, compare) => {
    const { peer, at, word } = withWord(value);
    peer.rx(compareSwap({ psn: 0, ...at, compare, swap: 7n }));
    peer.expectTx([atomicAck({ psn: 0, msn: 1, original: value })]);
    expect(word()).toBe(value);
  });

  it.each([
    [0n, 0n],
    [5n, 1n],
    [0xffff_ffffn, 1n],
    [0x1_0000_0000n, 0x1_0000_0000n],
    [MAX, 1n],
    [MAX, MAX],
    [0n, MAX],
    [0x8000_0000_8000_0000n, 0x8000_0000_8000_0000n],
  ])('ATM-03 FETCH ADD of %i and %i is modulo 2^64', (value, add) => {
    const { peer, at, word } = withWord(value);
    peer.rx(fetchAdd({ psn: 0, ...at, add }));
    peer.expectTx([atomicAck({ psn: 0, msn: 1, original: value })]);
    expect(word()).toBe((value + add) & MAX);
  });

  it.each([1n, 2n, 3n, 4n, 5n, 6n, 7n])('ATM-04 an address %i off a multiple of 8 draws 0x61', (off) => {
    for (const make of [
      (va: bigint, rkey: number) => fetchAdd({ psn: 0, va, rkey, add: 1n }),
      (va: bigint, rkey: number) => compareSwap({ psn: 0, va, rkey, compare: 3n, swap: 4n }),
    ]) {
      const { peer, mr, at, word } = withWord(3n);
      const before = mr.bytes.slice();
      peer.rx(make(at.va + off, at.rkey));
      peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
      expect(mr.bytes).toEqual(before);
      expect(word()).toBe(3n);
    }
  });

  it('ATM-05 ATM-06 a repetition returns the saved result, whatever its operands, and executes nothing', () => {
    const { peer, at, word } = withWord(10n);
    peer.rx(fetchAdd({ psn: 0, ...at, add: 1n }));
    peer.drain();
    peer.rx(fetchAdd({ psn: 1, ...at, add: 100n }));
    peer.drain();
    for (const add of [1n, 50n]) {
      peer.rx(fetchAdd({ psn: 0, ...at, add }));
      peer.expectTx([atomicAck({ psn: 0, msn: 2, original: 10n })]);
    }
    expect(word()).toBe(111n);
  });

  it('ATM-07 a repetition with the other opcode is dropped', () => {
    const { peer, at, word } = withWord(10n);
    peer.rx(fetchAdd({ psn: 0, ...at, add: 1n }));
    peer.drain();
    peer.rx(
      compareSwap({ psn: 0, ...at, compare: 11n, swap: 0n }),
      readRequest({ psn: 0, reth: { ...at, length: 8 } }),
    );
    peer.expectUsable(1, 2);
    expect(word()).toBe(11n);
  });

  it('ATM-08 the last max_dest_rd_atomic results are remembered, and no more', () => {
    const { peer, at } = withWord(0n, { maxDestRdAtomic: 3 });
    for (let i = 0; i < 4; i++) {
      peer.rx(fetchAdd({ psn: i, ...at, add: 1n }));
      peer.expectTx([atomicAck({ psn: i, msn: i + 1, original: BigInt(i) })]);
    }
    for (let i = 1; i < 4; i++) {
      peer.rx(fetchAdd({ psn: i, ...at, add: 1n }));
      peer.expectTx([atomicAck({ psn: i, msn: 4, original: BigInt(i) })]);
    }
    peer.rx(fetchAdd({ psn: 0, ...at, add: 1n }));
    peer.expectUsable(4, 5);
  });

  it('ATM-11 ATM-12 atomics keep the order of the requests around them', () => {
    const { peer, mr, at, word } = withWord(1n);
    const five = new Uint8Array(8);
    five[0] = 5;
    const reth = { ...at, length: 8 };
    peer.rx(writeOnly({ psn: 0, reth, payload: five }), fetchAdd({ psn: 1, ...at, add: 1n }));
    peer.expectTx([atomicAck({ psn: 1, msn: 2, original: 5n })]);
    peer.rx(readRequest({ psn: 2, reth }), fetchAdd({ psn: 3, ...at, add: 1n }));
    const [answer, result, ...more] = peer.drain();
    expect(more).toEqual([]);
    expect([6, 7]).toContain(answer?.payload?.[0]);
    expect(result).toMatchObject({ psn: 3, original: 6n });
    expect(word()).toBe(7n);
    expect(mr.bytes.slice(0, 8)).toEqual(mr.bytes.slice(0, 8));
  });

  it('ATM-14 operands are big-endian on the wire and little-endian in memory', () => {
    const { peer, mr, at } = withWord(0n);
    peer.rx(compareSwap({ psn: 0, ...at, compare: 0n, swap: 0x0102_0304_0506_0708n }));
    peer.drain();
    expect([...mr.bytes.slice(8, 16)]).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    peer.rx(readRequest({ psn: 1, reth: { ...at, length: 8 } }));
    peer.expectTx([readOnly({ psn: 1, msn: 2, payload: Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1) })]);
  });
});
