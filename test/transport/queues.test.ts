/**
 * Work queues and completion queues: their limits, what misuse is answered with, and that misuse changes nothing.
 * Method: direct calls; every refused call is followed by one that must still work.
 */
import { describe, expect, it } from 'vitest';
import { InvariantError, RoceError } from '../../packets/errors.ts';
import { RNR_TIMER_NS } from '../../packets/rnr-timer.ts';
import { AddressHandle } from '../../transport/address-handle.ts';
import { CompletionQueue, Notification } from '../../transport/completion-queue.ts';
import { TransportPools } from '../../transport/pools.ts';
import { Pool, Ring } from '../../transport/ring.ts';
import { MAX_MESSAGE_BYTES, SendQueue } from '../../transport/send-queue.ts';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { type SendWr, WcOpcode, WcStatus, WorkCompletion, WrOpcode, wcStatusName } from '../../transport/work.ts';
import { ack, pattern, sendOnly } from './support/packets.ts';
import { Peer } from './support/peer.ts';

function codeOf(call: () => void): string {
  try {
    call();
    return 'ok';
  } catch (error) {
    if (error instanceof RoceError) return error.code;
    throw error;
  }
}

describe('a request that is finished', () => {
  it('keeps neither memory nor an address handle alive', () => {
    const queue = new SendQueue(4, { maxSge: 1, maxInlineData: 0 }, new TransportPools().sends);
    const { pd } = new Peer();
    const ah = new AddressHandle(pd, undefined);
    queue.post({ wrId: 1, opcode: WrOpcode.Send, ah });
    const entry = queue.at(queue.head);
    expect(entry.ah).toBe(ah);
    queue.clear();
    expect(entry.ah).toBeUndefined();
  });
});

describe('posting', () => {
  const peer = new Peer();
  const mr = peer.region({ length: 64 });
  const sge = { mr, length: 8 };
  const send: SendWr = { wrId: 1, opcode: WrOpcode.Send };
  const cases: [string, SendWr][] = [
    ['an unknown opcode', { ...send, opcode: 7 as WrOpcode }],
    ['more SGEs than maxSge', { ...send, sges: [sge, sge, sge, sge, sge] }],
    ['a negative offset', { ...send, sges: [{ mr, offset: -1 }] }],
    ['a fractional length', { ...send, sges: [{ mr, length: 0.5 }] }],
    ['a length that is no number', { ...send, sges: [{ mr, length: Number.NaN }] }],
    [
      'LEN-15 a message above 2^31',
      {
        ...send,
        sges: [
          { mr, length: MAX_MESSAGE_BYTES },
          { mr, length: 1 },
        ],
      },
    ],
    ['too much inline data', { ...send, inline: new Uint8Array(65) }],
    ['inline data and SGEs', { ...send, inline: new Uint8Array(1), sges: [sge] }],
    ['an inline READ', { ...send, opcode: WrOpcode.RdmaRead, inline: new Uint8Array(8) }],
    ['an inline atomic', { ...send, opcode: WrOpcode.AtomicFetchAndAdd, inline: new Uint8Array(8) }],
    ['ATM-13 an atomic of 4 bytes', { ...send, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr, length: 4 }] }],
    ['ATM-13 an atomic of 16 bytes', { ...send, opcode: WrOpcode.AtomicCmpAndSwp, sges: [sge, sge] }],
    ['ATM-13 an atomic of nothing', { ...send, opcode: WrOpcode.AtomicCmpAndSwp }],
    ['a negative remote address', { ...send, remoteAddr: -1n }],
    ['a remote address of 65 bits', { ...send, remoteAddr: 1n << 64n }],
    ['a compare value of 65 bits', { ...send, compareAdd: 1n << 64n }],
    ['a negative swap value', { ...send, swap: -1n }],
    ['an rkey of 33 bits', { ...send, rkey: 2 ** 32 }],
    ['a fractional immediate', { ...send, immData: 1.5 }],
    ['a negative key to invalidate', { ...send, invalidateRkey: -1 }],
  ];

  it.each(cases)('%s is refused and nothing changes', (_, wr) => {
    expect(codeOf(() => peer.qp.postSend(wr))).toBe('ERR_ROCE_ARGUMENT');
    expect(peer.qp.sendsOutstanding).toBe(0);
    peer.silence();
  });

  it('LEN-15 a message of exactly 2^31 is taken', () => {
    const other = new Peer();
    other.post({ ...send, sges: [{ mr, length: MAX_MESSAGE_BYTES }] });
    expect(other.qp.sendsOutstanding).toBe(1);
  });

  it('a full send queue refuses, and takes work again after a completion', () => {
    const full = new Peer({ capabilities: { maxSendWr: 3 } });
    for (let wrId = 0; wrId < 3; wrId++) full.post({ ...send, wrId });
    expect(codeOf(() => full.qp.postSend(send))).toBe('ERR_ROCE_QUEUE_FULL');
    expect(full.drain()).toHaveLength(3);
    full.rx(ack({ psn: 0, msn: 1 }));
    expect(codeOf(() => full.qp.postSend(send))).toBe('ok');
    expect(full.completions()).toHaveLength(1);
  });

  it('a full receive queue refuses, and takes a receive again after a message', () => {
    const full = new Peer({ capabilities: { maxRecvWr: 2 } });
    full.postRecv(1);
    full.postRecv(2);
    expect(codeOf(() => full.qp.postRecv({ wrId: 3 }))).toBe('ERR_ROCE_QUEUE_FULL');
    expect(full.qp.receivesPosted).toBe(2);
    full.rx(sendOnly({ psn: 0 }));
    expect(codeOf(() => full.qp.postRecv({ wrId: 3 }))).toBe('ok');
  });

  it('a receive with too many SGEs is refused and nothing changes', () => {
    expect(codeOf(() => peer.qp.postRecv({ wrId: 1, sges: [sge, sge, sge, sge, sge] }))).toBe('ERR_ROCE_ARGUMENT');
    expect(peer.qp.receivesPosted).toBe(0);
  });

  it('CVE-2026-74377 a posted request is a copy: what the caller changes later is not seen', () => {
    const own = new Peer();
    const region = own.region({ length: 64 });
    const sges = [{ mr: region, offset: 0, length: 4 }];
    const wr = { wrId: 1, opcode: WrOpcode.Send, sges };
    own.qp.postSend(wr);
    sges[0] = { mr: region, offset: 60, length: 100 };
    sges.push({ mr: region, offset: 0, length: 4 });
    wr.wrId = 99;
    own.expectTx([sendOnly({ psn: 0, payload: region.bytes.slice(0, 4), ackReq: true })]);
    own.rx(ack({ psn: 0, msn: 1 }));
    expect(own.completions()).toEqual(['send 1 Success Send']);
  });

  it('a SEND is scattered over the pieces of its receive', () => {
    const own = new Peer();
    const region = own.region({ length: 600 });
    region.bytes.fill(0);
    const sges = [
      { mr: region, offset: 500, length: 3 },
      { mr: region, offset: 1, length: 400 },
    ];
    own.qp.postRecv({ wrId: 1, sges });
    own.rx(sendOnly({ psn: 0, payload: pattern(200) }));
    expect(region.bytes.slice(500, 504)).toEqual(Uint8Array.of(...pattern(3), 0));
    expect(region.bytes.slice(1, 198)).toEqual(pattern(200).slice(3));
    expect(region.bytes[198]).toBe(0);
  });
});

describe('completion queue', () => {
  const fill = (cq: CompletionQueue, wrId: number, solicited = false, status: WcStatus = WcStatus.Success): boolean => {
    const wc = cq.push(17, wrId, status, WcOpcode.Recv, 0);
    if (wc === undefined) return false;
    wc.solicited = solicited;
    cq.pushed(wc);
    return true;
  };

  it.each([0, -1, 1.5, Number.NaN])('a capacity of %d is refused', (capacity) => {
    expect(codeOf(() => new CompletionQueue(capacity, []))).toBe('ERR_ROCE_ARGUMENT');
  });

  it('gives completions back in order and reuses its entries', () => {
    const cq = new CompletionQueue(3, []);
    const wc = new WorkCompletion();
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 3; i++) expect(fill(cq, round * 3 + i)).toBe(true);
      expect(cq.length).toBe(3);
      for (let i = 0; i < 3; i++) {
        expect(cq.poll(wc)).toBe(true);
        expect(wc.wrId).toBe(round * 3 + i);
      }
      expect(cq.poll(wc)).toBe(false);
    }
  });

  it('an overflow is remembered, keeps what was there, and takes nothing more', () => {
    const cq = new CompletionQueue(2, []);
    expect([fill(cq, 1), fill(cq, 2), fill(cq, 3)]).toEqual([true, true, false]);
    expect(cq.overrun).toBe(true);
    const wc = new WorkCompletion();
    cq.poll(wc);
    expect(fill(cq, 4)).toBe(false);
    expect(cq.length).toBe(1);
  });

  it('takes no more after an overflow even when it is given room', () => {
    const notified: CompletionQueue[] = [];
    const cq = new CompletionQueue(1, notified);
    expect([fill(cq, 1), fill(cq, 2), fill(cq, 3)]).toEqual([true, false, false]);
    expect(notified).toEqual([cq]);
    cq.resize(10);
    expect(fill(cq, 4)).toBe(false);
    expect(cq.length).toBe(1);
  });

  it('is resized to no less than it holds, and loses nothing', () => {
    const cq = new CompletionQueue(3, []);
    const wc = new WorkCompletion();
    for (const wrId of [1, 2, 3]) fill(cq, wrId);
    for (const capacity of [2, 0, -1, 3.5, Number.NaN]) {
      expect(codeOf(() => cq.resize(capacity))).toBe('ERR_ROCE_ARGUMENT');
      expect([cq.capacity, cq.length]).toEqual([3, 3]);
    }
    cq.resize(40);
    for (let wrId = 4; wrId <= 40; wrId++) expect(fill(cq, wrId)).toBe(true);
    for (let wrId = 1; wrId <= 38; wrId++) expect([cq.poll(wc), wc.wrId]).toEqual([true, wrId]);
    cq.resize(2);
    expect(fill(cq, 41)).toBe(false);
    expect([cq.poll(wc), wc.wrId, cq.poll(wc), wc.wrId, cq.overrun]).toEqual([true, 39, true, 40, true]);
  });

  it('armed in both ways it notifies of each by itself', () => {
    const notified: CompletionQueue[] = [];
    const cq = new CompletionQueue(10, notified);
    cq.arm(true);
    cq.arm(false);
    fill(cq, 1);
    expect([notified.splice(0).length, cq.takeNotifications()]).toEqual([1, Notification.Any]);
    fill(cq, 2);
    expect(notified).toEqual([]);
    fill(cq, 3, true);
    expect([notified.length, cq.takeNotifications()]).toEqual([1, Notification.Solicited]);
    expect(cq.takeNotifications()).toBe(Notification.None);
  });

  it('notifies once for the next completion after it was armed', () => {
    const notified: CompletionQueue[] = [];
    const cq = new CompletionQueue(10, notified);
    fill(cq, 1);
    expect(notified).toEqual([]);
    cq.arm(false);
    fill(cq, 2);
    fill(cq, 3);
    expect(notified).toEqual([cq]);
  });

  it('armed for solicited completions it notifies for those and for failures', () => {
    for (const [solicited, status] of [
      [true, WcStatus.Success],
      [false, WcStatus.WrFlushErr],
    ] as const) {
      const notified: CompletionQueue[] = [];
      const cq = new CompletionQueue(10, notified);
      cq.arm(true);
      fill(cq, 1);
      expect(notified).toEqual([]);
      fill(cq, 2, solicited, status);
      expect(notified).toEqual([cq]);
    }
  });

  it('QPS-15 a request for any completion is not weakened by a later one for solicited ones', () => {
    const notified: CompletionQueue[] = [];
    const cq = new CompletionQueue(10, notified);
    cq.arm(false);
    cq.arm(true);
    fill(cq, 1);
    expect(notified).toEqual([cq]);
  });

  it('every status has the words of verbs', () => {
    const names = Object.values(WcStatus).map(wcStatusName);
    expect(new Set(names).size).toBe(22);
    expect(wcStatusName(WcStatus.RetryExcErr)).toBe('transport retry counter exceeded');
    expect(wcStatusName(99)).toBe('unknown');
  });
});

describe('ring', () => {
  it('keeps positions absolute while it grows and wraps', () => {
    const ring = new Ring(100, new Pool(() => ({ value: 0 })));
    for (let i = 0; i < 1000; i++) {
      ring.push().value = i;
      if (ring.length > 60) ring.shift();
      for (let p = ring.head; p < ring.tail; p++) expect(ring.at(p).value).toBe(p);
    }
  });

  it('holds no entry while it is empty: what one ring gave back another one gets', () => {
    let made = 0;
    const pool = new Pool(() => ({ number: made++ }));
    const rings = Array.from({ length: 10 }, () => new Ring(8, pool));
    for (const ring of rings) {
      const numbers = [ring.push().number, ring.push().number, ring.push().number];
      expect(new Set(numbers)).toEqual(new Set([0, 1, 2]));
      ring.shift();
      expect(ring.exchange({ number: 99 }).number).toBe(numbers[1]);
      expect(ring.at(ring.head).number).toBe(numbers[2]);
      ring.clear();
      expect([pool.take().number, pool.take().number, pool.take().number]).toEqual([numbers[2], 99, numbers[0]]);
      for (const number of [2, 1, 0]) pool.giveBack({ number });
    }
    expect(made).toBe(3);
  });

  it('is resized to anything but less than it holds', () => {
    const ring = new Ring(2, new Pool(() => ({ value: 0 })));
    ring.push().value = 1;
    ring.push().value = 2;
    expect(() => ring.resize(1)).toThrow(InvariantError);
    ring.resize(9);
    for (let value = 3; value <= 9; value++) ring.push().value = value;
    expect(ring.full).toBe(true);
    expect([ring.at(0).value, ring.at(8).value]).toEqual([1, 9]);
  });

  it('is read only between head and tail, and never pushed beyond its capacity', () => {
    const ring = new Ring(2, new Pool(() => ({})));
    expect(() => ring.at(0)).toThrow(InvariantError);
    expect(() => ring.shift()).toThrow(InvariantError);
    ring.push();
    ring.push();
    expect(ring.full).toBe(true);
    expect(() => ring.push()).toThrow(InvariantError);
    ring.shift();
    expect(() => ring.at(0)).toThrow(InvariantError);
    ring.clear();
    expect(ring.length).toBe(0);
  });
});

describe('timer tables', () => {
  it('RNR-11 follow the closed form and the published corner values', () => {
    expect(RNR_TIMER_NS).toHaveLength(32);
    const us = RNR_TIMER_NS.map((ns) => ns / 1000);
    expect([us[0], us[1], us[2], us[3], us[12], us[25], us[31]]).toEqual([655_360, 10, 20, 30, 640, 61_440, 491_520]);
    expect(Math.max(...us)).toBe(us[0]);
    for (let code = 2; code < 31; code++) expect(us[code + 1]).toBeGreaterThan(us[code] ?? 0);
    for (let code = 4; code < 32; code++) expect(us[code]).toBe(2 * (us[code - 2] ?? 0));
  });

  it('REQ-22 the ACK timeout doubles with each code, and 0 is never', () => {
    expect([ackTimeoutNs(0), ackTimeoutNs(1), ackTimeoutNs(14), ackTimeoutNs(31)]).toEqual([
      Number.POSITIVE_INFINITY,
      8192,
      67_108_864,
      8_796_093_022_208,
    ]);
  });
});
