/**
 * Goal: a peer that claims what cannot be is found out, and counting is that of rsocket.c.
 * Method: the two windows by themselves, told what a peer might say.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  connDataFault,
  IOMAP_BYTES,
  RsCtrl,
  RsOp,
  readConnData,
  rsMessage,
  writeConnData,
} from '../../../src/ulp/rsockets/protocol.ts';
import { ReceiveWindow } from '../../../src/ulp/rsockets/receive-window.ts';
import { SECOND_OF_TWO, SendWindow } from '../../../src/ulp/rsockets/send-window.ts';

const SETTINGS = {
  sendBuffer: 4096,
  receiveBuffer: 200,
  sendQueue: 16,
  receiveQueue: 16,
  inline: 0,
  iomaps: 0,
  messageSend: false,
};

function receiveWindow(): ReceiveWindow {
  const window = new ReceiveWindow(SETTINGS, new Uint8Array(200));
  // The second half, which a socket offers as soon as it is connected.
  expect(window.grant()).toEqual({ credits: 16, halfAt: 100 });
  return window;
}

describe('the receive window', () => {
  it('takes messages up to the end of a half, then of the next', () => {
    const window = receiveWindow();
    expect([60, 40, 100].map((length) => window.arrived(length))).toEqual([true, true, true]);
    expect(window.available).toBe(200);
    expect(window.arrived(1)).toBe(false);
  });

  it('refuses a message across the middle, where nobody can have written it', () => {
    const window = receiveWindow();
    expect([window.arrived(60), window.arrived(41)]).toEqual([true, false]);
  });

  it('refuses more messages than the queue holds, be they empty', () => {
    const window = receiveWindow();
    for (let i = 0; i < 16; i++) expect(window.arrived(0)).toBe(true);
    expect(window.arrived(0)).toBe(false);
  });

  it('owes a half when a half was read, and offers both in turn', () => {
    const window = receiveWindow();
    const into = new Uint8Array(100);
    window.arrived(100);
    expect([window.read(into.subarray(0, 99)), window.owes]).toEqual([99, false]);
    expect([window.read(into), window.owes]).toEqual([1, true]);
    expect(window.grant()).toEqual({ credits: 17, halfAt: 0 });
    window.arrived(100);
    window.read(into);
    expect(window.grant()).toEqual({ credits: 18, halfAt: 100 });
  });

  it('owes credits when half of them are used, without a half', () => {
    const window = receiveWindow();
    const into = new Uint8Array(1);
    for (let i = 0; i < 8; i++) {
      expect(window.owes).toBe(false);
      window.arrived(1);
      window.read(into);
    }
    expect([window.owes, window.grant()]).toEqual([true, { credits: 24, halfAt: -1 }]);
    expect(window.owes).toBe(false);
  });

  it('counts a message that leaves nothing to read as done with', () => {
    const window = receiveWindow();
    for (let i = 0; i < 8; i++) window.arrivedEmpty();
    expect([window.owes, window.grant().credits]).toEqual([true, 24]);
  });

  it('says more than 16 bits of credits near the turn of its count, as rsocket.c does', () => {
    const window = receiveWindow();
    for (let i = 0; i < 0xffff; i++) window.arrivedEmpty();
    expect(window.grant().credits).toBe(0xffff + 16);
    window.arrivedEmpty();
    expect(window.grant().credits).toBe(16);
  });
});

describe('the send window', () => {
  const list = (): DataView => new DataView(new ArrayBuffer(32));
  const peer = (credits: number, length: number) => {
    const dataBuf = { addr: 0x1000n, key: 7, length };
    const data = {
      version: 1,
      bigEndian: false,
      credits,
      iomapSize: 0,
      targetSgl: { addr: 0n, key: 1, length: 2 },
      dataBuf,
    };
    expect(connDataFault(readConnData(writeConnData(data)))).toBeUndefined();
    return data;
  };
  const sendWindow = (credits: number, length: number, memory = list()): SendWindow => {
    const window = new SendWindow(SETTINGS, memory);
    window.begin(peer(credits, length));
    return window;
  };

  it('goes through the buffers of the list in turn', () => {
    const memory = list();
    const window = sendWindow(9, 100, memory);
    expect(window.takeTarget(40)).toEqual({ addr: 0x1000n, key: 7, length: 40 });
    expect(window.target).toEqual({ addr: 0x1028n, key: 7, length: 60 });
    window.takeTarget(60);
    expect(window.open).toBe(false);
    memory.setBigUint64(16, 0x2000n, true);
    memory.setUint32(24, 8, true);
    memory.setUint32(28, 10, true);
    expect([window.open, window.takeTarget(10)]).toEqual([true, { addr: 0x2000n, key: 8, length: 10 }]);
    expect(window.target.length).toBe(0);
  });

  it('closes without credits and opens with them', () => {
    const window = sendWindow(2, 1000);
    window.takeTarget(1);
    window.takeTarget(1);
    expect([window.open, window.grant(3), window.open]).toEqual([false, true, true]);
  });

  it('closes when less than the low-water mark of the send buffer is free', () => {
    const window = sendWindow(100, 10_000);
    window.takeTarget(2049);
    expect(window.open).toBe(false);
    window.completed(1);
    expect(window.open).toBe(true);
  });

  it('keeps four slots of the send queue for control messages', () => {
    const window = sendWindow(100, 10_000);
    for (let i = 0; i < 12; i++) {
      expect(window.open).toBe(true);
      window.takeTarget(1);
    }
    expect([window.open, window.idle, window.controlsFree(4)]).toEqual([false, false, true]);
    window.controls = 4;
    expect(window.controlsFree(1)).toBe(false);
  });

  it('returns what a completed message took, and tells which was the Disconnect', () => {
    const window = new SendWindow({ ...SETTINGS, messageSend: true }, list());
    window.begin(peer(100, 10_000));
    const before = window.freeBytes;
    window.takeTarget(40);
    window.takeMessage(IOMAP_BYTES);
    window.controls = 3;
    const done = (op: RsOp, data: number, mark = 0): boolean => window.workCompleted(mark + rsMessage(op, data));
    // A WRITE has the bytes; the SEND behind it has a slot only.
    expect([done(RsOp.Data, 40), done(RsOp.Data, 0, SECOND_OF_TWO)]).toEqual([false, false]);
    expect([done(RsOp.IomapSgl, 1), done(RsOp.IomapSgl, 0, SECOND_OF_TWO)]).toEqual([false, false]);
    expect([window.freeBytes, window.controls]).toEqual([before, 3]);
    expect([done(RsOp.Sgl, 7), done(RsOp.Ctrl, RsCtrl.Shutdown)]).toEqual([false, false]);
    expect([window.idle, done(RsOp.Ctrl, RsCtrl.Disconnect), window.idle]).toEqual([false, true, true]);
  });

  it.each([
    [0, true],
    [16, true],
    [17, false],
    [0xffff, false],
    [0x1_0010, true],
    [0x1fff_ffff, false],
  ])('answers a grant up to message %i with %s', (granted, taken) => {
    expect(sendWindow(16, 1000).grant(granted)).toBe(taken);
  });

  it('knows a buffer that wraps around the end of memory', () => {
    const memory = list();
    const window = sendWindow(16, 100, memory);
    expect(window.targetIsSound).toBe(true);
    memory.setBigUint64(0, 2n ** 64n - 50n, true);
    expect(window.targetIsSound).toBe(false);
  });
});

/** Both windows of one direction, and the list between them: what a wire would carry, by hand. */
class Direction {
  readonly receive = new ReceiveWindow(SETTINGS, new Uint8Array(200));
  readonly send: SendWindow;
  /** What went wrong, which is nothing. */
  readonly wrong: string[] = [];
  readonly #list = new DataView(new ArrayBuffer(32));
  #entry = 1;

  constructor() {
    this.send = new SendWindow({ ...SETTINGS, sendBuffer: 2 ** 20 }, this.#list);
    const dataBuf = { addr: 0n, key: 0, length: 100 };
    const targetSgl = { addr: 0n, key: 0, length: 2 };
    this.send.begin({ version: 1, bigEndian: false, credits: 16, iomapSize: 0, targetSgl, dataBuf });
  }

  /** A message of `length` bytes, or as many as fit, when it may be sent; what is owed goes first. */
  step(length: number): void {
    while (this.receive.owes) this.#grant();
    if (!this.send.open) return;
    const size = Math.min(length, this.send.target.length);
    this.send.takeTarget(size);
    this.send.completed(size);
    if (!this.receive.arrived(size)) this.wrong.push(`no room for ${size} bytes`);
  }

  #grant(): void {
    const { credits, halfAt } = this.receive.grant();
    if (halfAt >= 0) {
      const at = this.#entry * 16;
      // The entry that is written is one that is used up.
      if (this.#list.getUint32(at + 12, true) !== 0) this.wrong.push('an entry in use was written');
      this.#list.setBigUint64(at, BigInt(halfAt), true);
      this.#list.setUint32(at + 12, 100, true);
      this.#entry = 1 - this.#entry;
    }
    if (!this.send.grant(credits)) this.wrong.push(`no use for ${credits} credits`);
  }
}

describe('both windows', () => {
  it('agree over any run of messages and reads', () => {
    const steps = fc.array(fc.record({ length: fc.nat(100), read: fc.nat(300) }), { maxLength: 300 });
    fc.assert(
      fc.property(steps, (run) => {
        const direction = new Direction();
        for (const { length, read } of run) {
          direction.step(length);
          direction.receive.read(new Uint8Array(read));
        }
        expect(direction.wrong).toEqual([]);
      }),
    );
  });

  it('go on when their 16 bits have turned', () => {
    const direction = new Direction();
    const into = new Uint8Array(1);
    let read = 0;
    for (let i = 0; i < 0x1_01_00; i++) {
      direction.step(1);
      read += direction.receive.read(into);
    }
    expect([read, direction.wrong]).toEqual([0x1_01_00, []]);
  });
});
