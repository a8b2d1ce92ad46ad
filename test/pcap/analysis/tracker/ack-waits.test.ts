/**
 * Goal: without connection management a timeout is told only where the requester has not shown that it waits longer.
 * Method: conversations by hand, as rdma_rxe guests had them.
 */
import { expect, it, vi } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { PacketMemory } from '../../../../pcap/analysis/tracker/packet-memory.ts';
import { MTU, Script } from './script.ts';

/** Waits of the timeouts that are told, in milliseconds. */
const timeoutsOf = (script: Script): number[] =>
  script
    .analyze()
    .events.filter(({ kind }) => kind === 'timeout')
    .map(({ durationNs }) => Math.round(durationNs / 1e6));

const begun = () => new Script().sends(0, 0).ack(0);

it('a wait of less than half of the longest before is no timeout', () => {
  const script = (ms: number) =>
    begun()
      .sends(1, 3)
      .wait(200e6)
      .sends(1, 3)
      .ack(3)
      .sends(4, 5)
      .wait(ms * 1e6)
      .sends(4, 5);
  expect(timeoutsOf(script(90).ack(5))).toEqual([200]);
  expect(timeoutsOf(script(110).ack(5))).toEqual([200, 110]);
});

it('a request that was answered late, and not sent again, shows the same', () => {
  const script = (ms: number) => {
    const quick = new Script();
    // The usual round trip is short.
    for (let psn = 0; psn < 10; psn++) quick.sends(psn, psn).ack(psn);
    const waits = quick.sends(10, 10).wait(100e6).ack(10).sends(11, 12);
    return waits
      .wait(ms * 1e6)
      .sends(11, 12)
      .ack(12);
  };
  expect(timeoutsOf(script(40))).toEqual([]);
  expect(timeoutsOf(script(60))).toEqual([60]);
});

it('timeouts one after the other may take longer each time, and show nothing', () => {
  const script = begun().sends(1, 2).wait(8e6).sends(1, 2).wait(30e6).sends(1, 2).ack(2);
  expect(timeoutsOf(script.sends(3, 4).wait(8e6).sends(3, 4).ack(4))).toEqual([8, 30, 8]);
});

it('a requester waits from its last answer, whatever it has sent again for a NAK since', () => {
  const script = begun().sends(1, 4).nak(1).wait(10e6).sends(1, 4).wait(60e6).sends(1, 4).ack(4);
  expect(timeoutsOf(script)).toEqual([70]);
});

it('answers to a READ that came before are answers, too', () => {
  const script = begun().read(1, 4).answers(1, 4, [2]).wait(80e6).read(1, 4).wait(30e6).answers(1, 4, [2]).wait(20e6);
  expect(timeoutsOf(script.a(Op.ReadRequest, 2, { length: 3000 }).answers(2, 4))).toEqual([80]);
});

/** How often packets are looked up in a script. More than 10,000 times is an error: it may be without end. */
function lookups(script: Script): number {
  const { flagsOf } = PacketMemory.prototype;
  let times = 0;
  const counted = vi.spyOn(PacketMemory.prototype, 'flagsOf').mockImplementation(function (this: PacketMemory, psn) {
    if (++times > 10_000) throw new Error('more than 10,000 packets were looked up');
    return flagsOf.call(this, psn);
  });
  try {
    script.analyze();
  } finally {
    counted.mockRestore();
  }
  return times;
}

it('an ACK of what is before the capture, or the first after a timeout, costs no look at all that was before', () => {
  expect(lookups(new Script().sends(0, 0).ack(-2))).toBeLessThan(20);
  const quiet = (script: Script, psn: number) => script.a(Op.SendOnly, psn, { asksAck: false });
  const silent = quiet(quiet(new Script(), 0), 1).wait(200e6);
  expect(lookups(quiet(quiet(silent, 0), 1).ack(0))).toBeLessThan(40);
});

it('the first ACK after a timeout looks at a bounded number of requests', () => {
  // The capture has nothing of the 50,000 in between.
  const quiet = (script: Script) => script.a(Op.SendOnly, 50_001, { asksAck: false });
  const silent = quiet(begun()).sends(50_002, 50_002).wait(200e6);
  expect(lookups(quiet(silent).ack(50_001))).toBeLessThan(5_000);
});

it('one that has seen a gap had no timeout in less than three quarters of a time that it has waited', () => {
  const script = (ms: number): number[] => {
    const patient = begun().read(1, 4).answers(1, 4).sends(5, 5).wait(200e6).ack(5);
    const reads = patient.read(6, 4).answers(6, 9, [7]);
    return timeoutsOf(
      reads
        .wait(ms * 1e6)
        .read(7, 3)
        .answers(7, 9),
    );
  };
  expect([script(140), script(160)]).toEqual([[], [160]]);
});

it('a requester that has seen a gap may be slow, and had no timeout before any that is in use', () => {
  /** The second response of the second READ is missing, or comes last. */
  const script = (comes: boolean, ms: number): number[] => {
    const reads = new Script({ ids: 'ipv6' }).read(0, 4).answers(0, 3).read(4, 4).answers(4, 7, [5]);
    if (comes) reads.b(Op.ReadResponseMiddle, 5, { payload: MTU });
    return timeoutsOf(
      reads
        .wait(ms * 1e6)
        .read(5, 3)
        .answers(5, 7),
    );
  };
  expect([script(true, 60), script(false, 60)]).toEqual([[], []]);
  expect([script(true, 70), script(false, 70)]).toEqual([[70], [70]]);
});
