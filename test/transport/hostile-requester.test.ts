/**
 * Attacks on a requester: forged acknowledgements and READ responses (ref:hostile#SEC-11, ref:hostile#SEC-12).
 * Method: exhaustive over syndromes and PSN positions, then random forgeries; what must hold is checked after each.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { QpState } from '../../transport/qp-state.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, nak, type Packet, pattern } from './support/packets.ts';
import { fcRuns, Peer } from './support/peer.ts';

const REMOTE = { remoteAddr: 0x1000n, rkey: 0x77 };
const GUARD = 32;

/** SEND 0, READ 1..3, SEND 4, FETCH ADD 5, SEND 6; PSN 7 has not been sent. */
function busy() {
  const peer = new Peer();
  const mr = peer.region({ length: 1024 });
  const before = mr.bytes.slice();
  const sink = { mr, offset: GUARD, length: 600 };
  peer.post({ wrId: 0, opcode: WrOpcode.Send });
  peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [sink], ...REMOTE });
  peer.post({ wrId: 2, opcode: WrOpcode.Send });
  peer.post({ wrId: 3, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr, offset: 700, length: 8 }], ...REMOTE });
  peer.post({ wrId: 4, opcode: WrOpcode.Send });
  peer.pump();
  peer.drain();
  const same = (from: number, to: number) =>
    Buffer.compare(mr.bytes.subarray(from, to), before.subarray(from, to)) === 0;
  const outside = () => expect([same(0, GUARD), same(GUARD + 600, 700), same(708, 1024)]).toEqual([true, true, true]);
  return { peer, outside };
}

/** Completions come once each, in order, and none of them is a success without `evidence`. */
function expectSane(lines: readonly string[], successes: number): void {
  const order = lines.map((line) => Number(line.split(' ')[1]));
  expect(order).toEqual(order.map((_, i) => (order[0] ?? 0) + i));
  expect(lines.filter((line) => line.includes('Success')).length).toBeLessThanOrEqual(successes);
}

describe('forged acknowledgements', () => {
  it('SEC-11 every syndrome at every PSN around the window completes at most what it can vouch for', () => {
    for (let syndrome = 0; syndrome < 256; syndrome++) {
      for (const psn of [-0x80_00_00, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 100, 0x7f_ff_ff]) {
        const { peer, outside } = busy();
        peer.rx(nak(syndrome, { psn, msn: (syndrome * 77) & 0xff_ff_ff }));
        const lines = peer.completions();
        // A plain acknowledge vouches for the first SEND at most: a READ stands right behind it.
        expectSane(lines, 1);
        if (psn < 0 || psn > 6) {
          expect(lines).toEqual([]);
          expect(peer.qp.state).toBe(QpState.Rts);
          peer.silence();
        }
        outside();
      }
    }
  });

  it('SEC-11 MSN jumps mean nothing', () => {
    for (const msn of [0, 1, 5, 0x7f_ff_ff, 0xff_ff_ff]) {
      const { peer } = busy();
      peer.rx(ack({ psn: 0, msn }));
      expect(peer.completions()).toEqual(['send 0 Success Send']);
    }
  });

  it('SEC-11 a flood of forged NAKs cannot make a requester send without end', () => {
    const { peer } = busy();
    for (let i = 0; i < 1000; i++) peer.rx(nak(0x60, { psn: 1, msn: 0 }));
    expect(peer.drain().length).toBeLessThanOrEqual(2 * 7);
    expect(peer.qp.state).toBe(QpState.Rts);
  });

  it.each([Op.Acknowledge, Op.ReadResponseFirst, Op.ReadResponseLast, Op.ReadResponseOnly, Op.AtomicAcknowledge])(
    'SEC-11 an idle requester ignores opcode %i whatever it says',
    (opcode) => {
      const peer = new Peer();
      for (let syndrome = 0; syndrome < 256; syndrome++) peer.rx({ opcode, psn: 0, syndrome, msn: 1, original: 1n });
      peer.expectUsable(0, 1);
      expect(peer.completions()).toEqual([]);
    },
  );
});

describe('forged READ responses', () => {
  const responses = [
    Op.ReadResponseFirst,
    Op.ReadResponseMiddle,
    Op.ReadResponseLast,
    Op.ReadResponseOnly,
    Op.AtomicAcknowledge,
    Op.Acknowledge,
  ];
  const forgery = fc.record({
    opcode: fc.constantFrom(...responses),
    psn: fc.integer({ min: -2, max: 9 }),
    syndrome: fc.oneof({ weight: 4, arbitrary: fc.constant(0x1f) }, { weight: 1, arbitrary: fc.nat(255) }),
    size: fc.constantFrom(0, 1, 8, 88, 255, 256, 257, 600, 1024),
  });

  it('SEC-12 any run of forgeries leaves everything outside the sinks untouched and completes in order, once', () => {
    fc.assert(
      fc.property(fc.array(forgery, { maxLength: 30 }), (forgeries) => {
        const { peer, outside } = busy();
        const lines: string[] = [];
        for (const { size, ...fields } of forgeries) {
          const payload = fields.opcode === Op.Acknowledge || fields.opcode === Op.AtomicAcknowledge ? 0 : size;
          const packet: Packet = { ...fields, msn: 1, original: 3n, payload: pattern(payload, 99) };
          peer.rx(packet);
          peer.pump();
          lines.push(...peer.completions());
          outside();
          expectSane(lines, 5);
          expect(lines.length + peer.qp.sendsOutstanding).toBe(5);
        }
        peer.advance(1e10);
        lines.push(...peer.completions());
        expectSane(lines, 5);
        outside();
        expect(lines.length).toBe(5);
      }),
      { numRuns: fcRuns(300) },
    );
  });
});
