/**
 * Goal: whoever is marked on a wire hears of it, from the receiver as far as it can tell, and not more often than it
 * should. Method: a path each way with a notifier between them; connections made by CM datagrams or by traffic; time is
 * a number.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMac } from '../../packets/address.ts';
import { readCnp } from '../../packets/cnp.ts';
import { writeDeth } from '../../packets/deth.ts';
import { RoceError } from '../../packets/errors.ts';
import { frameDestination, frameSource, Medium } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import { FaultEngine, type FaultEngineOptions } from '../../src/faults/engine.ts';
import { Notifier, type NotifyOptions } from '../../src/faults/notifier.ts';
import { FaultPath } from '../../src/faults/path.ts';
import type { WireRule } from '../../src/faults/rule.ts';
import { batchOf, Collector } from '../sim/support.ts';
import { A_TO_B, acknowledge, B_TO_A, mad, type PacketSpec, packet, parse, rep, req } from './support.ts';

const A_QPN = 0x11;
const B_QPN = 0x22;
const CNP = 0x81;
const MARK_ALL: WireRule = { on: {}, do: 'mark-ce' };
const INTERVAL_NS = 50_000;

/** Both directions of a wire. */
class Wire {
  readonly engine: FaultEngine;
  readonly paths: readonly [FaultPath, FaultPath];
  readonly notifier: Notifier;
  /** What came out at b, and at a. */
  readonly out = [new Collector(), new Collector()] as const;
  readonly notifying: string[] = [];

  constructor(
    options: Omit<FaultEngineOptions, 'medium'> & { readonly notify?: NotifyOptions; readonly capacity?: number } = {},
  ) {
    const { notify = {}, capacity, ...others } = options;
    this.engine = new FaultEngine({ medium: Medium.Ethernet, rules: [MARK_ALL], ...others });
    this.notifier = new Notifier(this.engine.conversations, notify, (now, direction, frame, about) =>
      this.#path(1 - direction).insert(now, frame, about),
    );
    const path = (direction: number) =>
      new FaultPath(this.engine, direction, {
        maxFrameBytes: 1522,
        capacity,
        notifier: this.notifier,
        observer: {
          entered: () => {},
          left: () => {},
          notifying: (_now, { direction }, serial, _bytes, _start, _end, about) =>
            this.notifying.push(`${direction} ${serial} about ${about}`),
        },
      });
    this.paths = [path(A_TO_B), path(B_TO_A)];
  }

  enter(now: number, direction: number, ...frames: readonly Uint8Array[]): void {
    const batch = batchOf(...frames);
    this.#path(direction).enter(now, batch, 0, batch.count);
    this.flush(now);
  }

  flush(now: number, until = now): void {
    for (const path of [...this.paths, ...this.paths]) {
      const out = path.direction === A_TO_B ? this.out[0] : this.out[1];
      path.flush(
        now,
        (batch, from) => {
          const frames = Array.from({ length: batch.count - from }, (_, i) => {
            const start = batch.starts[from + i] ?? 0;
            return batch.bytes.slice(start, start + (batch.lengths[from + i] ?? 0));
          });
          out.receive(batchOf(...frames));
          return frames.length;
        },
        until,
      );
    }
  }

  /** A queue pair on each side, known from connection management. */
  connect(): this {
    this.enter(0, A_TO_B, mad(A_TO_B, req({ localCommId: 1, localQpn: A_QPN, startingPsn: 100 })));
    const reply = rep({ localCommId: 2, remoteCommId: 1, localQpn: B_QPN, startingPsn: 500 });
    this.enter(0, B_TO_A, mad(B_TO_A, reply));
    return this;
  }

  cnps(direction: number) {
    return (direction === A_TO_B ? this.out[0] : this.out[1]).frames
      .map((bytes) => parse(bytes))
      .filter(({ frame }) => frame.opcode === CNP);
  }

  #path(direction: number): FaultPath {
    return direction === A_TO_B ? this.paths[0] : this.paths[1];
  }
}

const write = (psn: number, more: Partial<PacketSpec> = {}) =>
  packet({
    direction: A_TO_B,
    opcode: Op.WriteMiddle,
    qpn: B_QPN,
    psn,
    payloadBytes: 64,
    trafficClass: (26 << 2) | 2,
    ...more,
  });

describe('a notification', () => {
  it('goes back to the sender of a marked packet, as its receiver would send it', () => {
    const wire = new Wire().connect();
    wire.enter(0, A_TO_B, write(500));
    const [cnp] = wire.cnps(B_TO_A);
    if (cnp === undefined) throw new Error('no CNP');
    const { frame, icrcOk, status } = cnp;
    expect([status, icrcOk]).toEqual([0, true]);
    expect(readCnp(frame.view, frame.bthOffset)).toEqual({ pkey: 0xff_ff, destQpn: A_QPN, becn: 1 });
    expect([frame.psn, frame.solicited, frame.migReq, frame.ackReq, frame.fecn]).toEqual([0, 0, 0, 0, 0]);
    expect([frameSource(frame).toString(), frameDestination(frame).toString()]).toEqual(['10.0.0.2', '10.0.0.1']);
    expect([formatMac(frame.bytes, 0), formatMac(frame.bytes, 6)]).toEqual(['02:00:00:00:00:01', '02:00:00:00:00:02']);
    expect([frame.trafficClass, frame.sourcePort, frame.destPort]).toEqual([48 << 2, 50_000, 4791]);
    expect([...frame.bytes.subarray(frame.bthOffset + 12, frame.icrcOffset)]).toEqual(new Array(16).fill(0));
    expect(wire.notifying).toEqual(['1 2 about 2']);
    expect(wire.notifier.byDirection['a-to-b']).toEqual({
      marked: 1,
      cnpSent: 1,
      filtered: 0,
      unknownSender: 0,
      unsent: 0,
    });
  });

  it('has the P_Key of the marked packet, and BECN and DSCP as asked', () => {
    const wire = new Wire({
      notify: { becn: 0, cnpDscp: 46 },
      rules: [{ on: {}, do: 'rewrite', set: { 'bth.pkey': 0x8123 } }, MARK_ALL],
    }).connect();
    wire.enter(0, A_TO_B, write(500));
    const [cnp] = wire.cnps(B_TO_A);
    expect(cnp?.frame).toMatchObject({ pkey: 0x81_23, becn: 0, trafficClass: 46 << 2 });
    expect(cnp?.icrcOk).toBe(true);
  });

  it('reaches the responder whose READ responses are marked, over IPv6 too', () => {
    const wire = new Wire();
    wire.enter(0, A_TO_B, mad(A_TO_B, req({ localCommId: 1, localQpn: A_QPN, startingPsn: 100 }), 6));
    wire.enter(0, B_TO_A, mad(B_TO_A, rep({ localCommId: 2, remoteCommId: 1, localQpn: B_QPN, startingPsn: 5 }), 6));
    const spec = { ipVersion: 6, trafficClass: 1 } as const;
    wire.enter(
      0,
      A_TO_B,
      packet({ direction: A_TO_B, opcode: Op.ReadRequest, qpn: B_QPN, psn: 5, ...spec, trafficClass: 0 }),
    );
    const response = {
      direction: B_TO_A,
      opcode: Op.ReadResponseMiddle,
      qpn: A_QPN,
      psn: 6,
      payloadBytes: 64,
      ...spec,
    };
    wire.enter(1, B_TO_A, packet(response));
    const [cnp] = wire.cnps(A_TO_B);
    expect(cnp?.frame).toMatchObject({ destQpn: B_QPN, ipVersion: 6, trafficClass: 48 << 2 });
    expect(cnp?.icrcOk).toBe(true);
    expect(wire.cnps(B_TO_A)).toEqual([]);
  });

  it('names the source queue pair of a datagram', () => {
    const wire = new Wire();
    const put = (view: DataView, at: number) => writeDeth(view, at, 7, 0x77);
    wire.enter(0, A_TO_B, write(1, { opcode: Op.UdSendOnly, write: put }));
    expect(wire.cnps(B_TO_A)[0]?.frame.destQpn).toBe(0x77);
  });

  it('is not sent while the queue pair of the sender is unknown, and is once an answer has shown it', () => {
    const wire = new Wire();
    wire.enter(0, A_TO_B, write(7), write(8));
    expect(wire.cnps(B_TO_A)).toEqual([]);
    expect(wire.notifier.byDirection['a-to-b']).toMatchObject({ marked: 2, cnpSent: 0, unknownSender: 2 });
    wire.enter(1, B_TO_A, acknowledge(B_TO_A, A_QPN, 8));
    wire.enter(2, A_TO_B, write(9));
    expect(wire.cnps(B_TO_A).map(({ frame }) => frame.destQpn)).toEqual([A_QPN]);
  });

  it('is for no packet that passes unmarked, for no CNP, no management datagram, and nothing that is not RoCE', () => {
    const wire = new Wire().connect();
    wire.enter(0, A_TO_B, write(500, { trafficClass: 0 }));
    const ecn = { trafficClass: 2 };
    wire.enter(1, A_TO_B, packet({ direction: A_TO_B, opcode: CNP, qpn: B_QPN, psn: 0, payloadBytes: 16, ...ecn }));
    const gsi = (view: DataView, at: number) => writeDeth(view, at, 7, 1);
    wire.enter(2, A_TO_B, write(1, { opcode: Op.UdSendOnly, qpn: 1, write: gsi }));
    expect(wire.engine.rules[0]).toMatchObject({ applied: 2 });
    const notRoce = write(3);
    new DataView(notRoce.buffer).setUint16(14 + 20 + 2, 4792);
    wire.enter(3, A_TO_B, notRoce);
    expect(wire.cnps(B_TO_A)).toEqual([]);
    expect(wire.notifier.byDirection['a-to-b'].marked).toBe(0);
  });

  it('is for no packet that a fault has damaged as well, nor for one in two tags', () => {
    const wire = new Wire({ rules: [MARK_ALL, { on: { opcode: 'write', nth: 1 }, do: 'corrupt' }] }).connect();
    wire.enter(0, A_TO_B, write(500));
    const twice = write(501);
    const tagged = new Uint8Array(twice.length + 8);
    tagged.set(twice.subarray(0, 12));
    tagged.set([0x88, 0xa8, 0, 1, 0x81, 0, 0, 2], 12);
    tagged.set(twice.subarray(12), 20);
    wire.enter(1, A_TO_B, tagged);
    expect(wire.cnps(B_TO_A)).toEqual([]);
    expect(wire.notifier.byDirection['a-to-b']).toMatchObject({ marked: 2, unsent: 2 });
  });

  it('goes in the VLAN of the packet, with the priority of notifications', () => {
    const wire = new Wire().connect();
    const bare = write(500);
    const tagged = new Uint8Array(bare.length + 4);
    tagged.set(bare.subarray(0, 12));
    tagged.set([0x81, 0, 0x60, 0x0c], 12);
    tagged.set(bare.subarray(12), 16);
    wire.enter(0, A_TO_B, tagged);
    const [cnp] = wire.cnps(B_TO_A);
    expect([cnp?.frame.vlanTci, cnp?.icrcOk]).toEqual([(6 << 13) | 12, true]);
  });

  it('is sent for what the queue for the rate marks, as the packet leaves it', () => {
    const ecn = { kminBytes: 0, kmaxBytes: 0, pmax: 1 };
    const wire = new Wire({ rules: [], faults: { aToB: { rateBps: 8e9, ecn }, bToA: { delayNs: 1e6 } } }).connect();
    wire.enter(1000, A_TO_B, write(500), write(501));
    expect(wire.cnps(B_TO_A)).toEqual([]);
    wire.flush(1001);
    // The delay of the way back is not for it: it begins there, ahead of everything.
    expect(wire.cnps(B_TO_A)).toHaveLength(1);
    expect(wire.paths[0].counters.marked).toBe(1);
  });

  it('is counted as unsent when there is no room for it', () => {
    const wire = new Wire({ capacity: 1 }).connect();
    const held = batchOf(acknowledge(B_TO_A, A_QPN, 1));
    wire.paths[1].enter(0, held, 0, 1);
    wire.enter(0, A_TO_B, write(500));
    expect(wire.notifier.byDirection['a-to-b']).toMatchObject({ marked: 1, cnpSent: 0, unsent: 1 });
  });
});

describe('the interval', () => {
  it('lets one notification through for each flow, whatever comes marked', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ gap: fc.nat(30_000), back: fc.boolean() }), { maxLength: 100 }),
        fc.constantFrom(0, 1000, INTERVAL_NS),
        (steps, minTimeBetweenCnpsNs) => {
          const wire = new Wire({ notify: { minTimeBetweenCnpsNs } }).connect();
          let now = 0;
          const last = [-Infinity, -Infinity];
          const due = [0, 0];
          for (const { gap, back } of steps) {
            now += gap;
            const direction = back ? B_TO_A : A_TO_B;
            wire.enter(now, direction, write(500, { direction, qpn: back ? A_QPN : B_QPN }));
            if (now - (last[direction] ?? 0) < minTimeBetweenCnpsNs) continue;
            last[direction] = now;
            due[direction] = (due[direction] ?? 0) + 1;
          }
          expect([wire.cnps(B_TO_A).length, wire.cnps(A_TO_B).length]).toEqual(due);
          for (const { marked, cnpSent, filtered } of wire.notifier.counters) expect(marked).toBe(cnpSent + filtered);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is that of one flow: another queue pair, or another address, has its own', () => {
    const wire = new Wire();
    const datagram = (qpn: number, ipVersion: 4 | 6 = 4) =>
      write(1, { opcode: Op.UdSendOnly, ipVersion, write: (view, at) => writeDeth(view, at, 7, qpn) });
    wire.enter(0, A_TO_B, datagram(3), datagram(4), datagram(3), datagram(3, 6));
    expect(wire.cnps(B_TO_A).map(({ frame }) => [frame.destQpn, frame.ipVersion])).toEqual([
      [3, 4],
      [4, 4],
      [3, 6],
    ]);
  });

  it('is refused when it makes no sense, by name', () => {
    expect(() => new Wire({ notify: { minTimeBetweenCnpsNs: -1 } })).toThrow(/minTimeBetweenCnpsNs/);
    expect(() => new Wire({ notify: { cnpDscp: 64 } })).toThrow(RoceError);
  });
});
