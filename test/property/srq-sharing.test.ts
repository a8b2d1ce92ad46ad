/**
 * Queue pairs that share their receives. Goal: whatever the wire does and whoever dies, every buffer is used at most
 * once, every message of a reliable connection lies whole in exactly one buffer, in order, and one of an unreliable
 * connection whole or not at all (a wire that doubles packets doubles it); no buffer gets lost. Method: two devices on
 * a simulated wire; connections, messages, faults and deaths drawn by fast-check.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Access,
  attachDevice,
  type Device,
  IpAddress,
  Medium,
  type Qp,
  QpState,
  QpType,
  WcStatus,
  WorkCompletion,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { fcRuns } from '../transport/support/peer.ts';

interface Scenario {
  readonly seed: number;
  readonly faults: {
    readonly loss: number;
    readonly duplicate: number;
    readonly reorder: number;
    readonly corrupt: number;
  };
  readonly psn: number;
  readonly connections: readonly {
    readonly reliable: boolean;
    /** Bytes of each message. */
    readonly messages: readonly number[];
    /** After so many completions at the receiving side it is killed; absent: never. */
    readonly dies: number | undefined;
  }[];
  /** Buffers posted at the start, and with each completion. */
  readonly atStart: number;
  readonly each: number;
}

const probability = fc.constantFrom(0, 0, 0.02, 0.1);

const scenario = fc.record<Scenario>({
  seed: fc.nat(0x7f_ff_ff_ff),
  faults: fc.record({ loss: probability, duplicate: probability, reorder: probability, corrupt: probability }),
  psn: fc.constantFrom(0, 0xff_ff_f0, 0x7f_ff_f8),
  connections: fc.array(
    fc.record({
      reliable: fc.oneof(fc.constant(true), fc.boolean()),
      messages: fc.array(fc.nat(1000), { minLength: 1, maxLength: 12 }),
      dies: fc.option(fc.nat(8), { nil: undefined, freq: 4 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  atStart: fc.nat(6),
  each: fc.integer({ min: 1, max: 3 }),
});

const MTU = 256;
const BUFFER = 1024;
const BUFFERS = 400;
const STEP_NS = 200_000;
const CALM_NS = 4_000_000_000;

/** What connection `from` sends as its message number `index`. */
const message = (from: number, index: number, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (from * 101 + index * 17 + i * 3) & 0xff);

class Run {
  readonly world: World;
  readonly a: Device;
  readonly b: Device;
  readonly #scenario: Scenario;
  readonly #senders: Qp[] = [];
  readonly #receivers: Qp[] = [];
  readonly #cq;
  readonly #sendCq;
  readonly #srq;
  readonly #buffers;
  /** Message numbers that came, by connection. */
  readonly #came: number[][];
  readonly #used = new Set<number>();
  #posted = 0;
  #completed = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.world = new World({ seed: scenario.seed, medium: Medium.Ip, faults: scenario.faults });
    this.a = attachDevice(this.world, 'a', { addresses: ['10.0.0.1/24'] });
    this.b = attachDevice(this.world, 'b', { addresses: ['10.0.0.2/24'] });
    this.#cq = this.b.createCq(4096);
    this.#sendCq = this.a.createCq(4096);
    const pd = this.b.allocPd();
    this.#srq = pd.createSrq({ maxWr: BUFFERS });
    this.#buffers = pd.regMr(BUFFERS * BUFFER);
    this.#came = scenario.connections.map(() => []);
    for (let i = 0; i < scenario.atStart; i++) this.#postBuffer();
    const left = this.a.allocPd();
    for (const { reliable, messages } of scenario.connections) {
      const type = reliable ? QpType.Rc : QpType.Uc;
      const from = left.createQp({ type, sendCq: this.#sendCq, recvCq: this.#sendCq });
      const to = pd.createQp({ type, sendCq: this.#cq, recvCq: this.#cq, srq: this.#srq });
      connect(from, to, '10.0.0.2', scenario.psn);
      connect(to, from, '10.0.0.1', scenario.psn);
      const number = this.#senders.length;
      this.#senders.push(from);
      this.#receivers.push(to);
      for (const [index, length] of messages.entries()) {
        const mr = left.regMr(message(number, index, length));
        from.postSend({ wrId: index, opcode: WrOpcode.SendWithImm, sges: [{ mr }], immData: index });
      }
    }
  }

  run(): void {
    const { world } = this;
    // An SRQ that is dry wants somebody who posts: a buffer now and then, whatever completes.
    for (let t = 0; t < 1000; t++) {
      world.runFor(STEP_NS);
      this.#take();
      this.#postBuffer();
      if (this.#done()) break;
    }
    world.runFor(CALM_NS);
    this.#take();
    this.#check();
  }

  #postBuffer(): void {
    if (this.#posted >= BUFFERS) return;
    const offset = this.#posted * BUFFER;
    this.#srq.postRecv({ wrId: this.#posted, sges: [{ mr: this.#buffers, offset, length: BUFFER }] });
    this.#posted += 1;
  }

  #done(): boolean {
    return this.#senders.every((qp) => qp.core.sendsOutstanding === 0);
  }

  #take(): void {
    const wc = new WorkCompletion();
    while (this.#cq.poll(wc)) {
      this.#completed += 1;
      expect(this.#used.has(wc.wrId), 'a buffer is used once').toBe(false);
      this.#used.add(wc.wrId);
      const from = this.#receivers.findIndex(({ qpn }) => qpn === wc.qpn);
      if (wc.status === WcStatus.Success) this.#received(from, wc);
      else this.#failed(from, wc.status);
      for (let i = 0; i < this.#scenario.each; i++) this.#postBuffer();
      for (const [i, { dies }] of this.#scenario.connections.entries())
        if (dies === this.#completed) this.#receivers[i]?.modifyNow({ state: QpState.Error });
    }
  }

  #received(from: number, { wrId, immData, byteLen }: WorkCompletion): void {
    const length = this.#scenario.connections[from]?.messages[immData];
    expect(byteLen, 'a message arrives whole').toBe(length);
    const got = this.#buffers.bytes.subarray(wrId * BUFFER, wrId * BUFFER + byteLen);
    expect(Buffer.compare(got, message(from, immData, byteLen)), 'and is what was sent').toBe(0);
    this.#came[from]?.push(immData);
  }

  #failed(from: number, status: WcStatus): void {
    const { reliable = true } = this.#scenario.connections[from] ?? {};
    const dead = this.#receivers[from]?.state === QpState.Error;
    if (status === WcStatus.WrFlushErr) expect(dead, 'only the dead flush').toBe(true);
    else expect([reliable, status], 'a broken UC message takes its buffer').toEqual([false, WcStatus.RemInvReqErr]);
  }

  #check(): void {
    let holding = 0;
    for (const [i, { reliable, messages }] of this.#scenario.connections.entries()) {
      const came = this.#came[i] ?? [];
      const dead = this.#receivers[i]?.state === QpState.Error;
      expect(this.#senders[i]?.core.sendsOutstanding).toBe(0);
      if (reliable) {
        expect(came, 'reliable messages come in order').toEqual(messages.slice(0, came.length).map((_, k) => k));
        // Whoever waits for a receive without progress may run out of retries on a bad wire.
        const gaveUp = this.#senders[i]?.state === QpState.Error;
        if (!dead && !gaveUp) expect(came.length, 'and all of them').toBe(messages.length);
      } else if (!dead) holding += 1;
    }
    const missing = this.#posted - this.#completed - this.#srq.length;
    expect(missing, 'no buffer appears from nowhere').toBeGreaterThanOrEqual(0);
    expect(missing, 'none gets lost but with an unreliable message that has not ended').toBeLessThanOrEqual(holding);
  }
}

function connect(qp: Qp, peer: Qp, address: string, psn: number): void {
  const reliable = qp.type === QpType.Rc;
  qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite });
  qp.modifyNow({
    state: QpState.Rtr,
    av: { destination: IpAddress.parse(address) },
    destQpn: peer.qpn,
    rqPsn: psn,
    mtu: MTU,
    ...(reliable ? { maxDestRdAtomic: 1, minRnrTimer: 5 } : {}),
  });
  const retries = { timeout: 8, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 };
  qp.modifyNow({ state: QpState.Rts, sqPsn: psn, ...(reliable ? retries : {}) });
}

describe('queue pairs that share their receives', () => {
  it('use every buffer once and lose no message, whatever the wire does and whoever dies', () => {
    fc.assert(
      fc.property(scenario, (each) => new Run(each).run()),
      { numRuns: fcRuns(120) },
    );
  });
});
