/**
 * Goal: a responder with a bug does not hold the properties, the rule it breaks is named, and what shows it is short.
 * Method: our device in-process, seen through a bent glass; the seed is fixed, so that every run is the same.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { Packet } from '../../../../packets/kit/packet.ts';
import { OPCODE_FLAGS, Op, OpFlag } from '../../../../packets/opcode.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { runProperties } from '../../../../tools/conformance/properties/run-properties.ts';
import { testerSubject } from '../../../../tools/conformance/properties/tester-subject.ts';
import { type Bend, bent } from './bent.ts';

const dut = new InProcessDut({ seed: 7 });
afterAll(() => dut.close());
const subject = testerSubject(dut, 7);

const is = (packet: Packet, flag: number): boolean => ((OPCODE_FLAGS[packet.opcode] ?? 0) & flag) !== 0;
const isNak = ({ opcode, syndrome }: Packet, code: number): boolean => opcode === Op.Acknowledge && syndrome === code;
const isAck = ({ opcode, syndrome = 0xff }: Packet): boolean => opcode === Op.Acknowledge && syndrome < 0x20;

/**
 * A bug, in which property it shows, which rules may name it, and how many packets of the tester are enough to show it.
 */
interface Bug {
  readonly bug: string;
  readonly property: 'responder-sequences' | 'responder-duplicates' | 'responder-faults';
  readonly rules: readonly string[];
  readonly packets: number;
  readonly bend: () => Bend;
}

const changed = (when: (packet: Packet) => boolean, to: (packet: Packet) => Packet) => (): Bend => ({
  rx: (packet) => [when(packet) ? to(packet) : packet],
});

const BUGS: readonly Bug[] = [
  {
    bug: 'a NAK 0x60 names the packet behind the missing one',
    ...{ property: 'responder-sequences', rules: ['KEY-18'], packets: 2 },
    bend: changed(
      (p) => isNak(p, 0x60),
      (p) => ({ ...p, psn: p.psn + 1 }),
    ),
  },
  {
    bug: 'every gap is told twice',
    ...{ property: 'responder-sequences', rules: ['RSP-PSN-05', 'RSP-PSN-09'], packets: 2 },
    bend: () => ({ rx: (p) => (isNak(p, 0x60) ? [p, p] : [p]) }),
  },
  {
    bug: 'the MSN counts a message too many',
    ...{ property: 'responder-sequences', rules: ['ACK-06'], packets: 3 },
    bend: changed(isAck, (p) => ({ ...p, msn: (p.msn ?? 0) + 1 })),
  },
  {
    bug: 'acknowledges get lost',
    ...{ property: 'responder-sequences', rules: ['ACK-01', 'RSP-PSN-10'], packets: 3 },
    bend: () => ({ rx: (p) => (isAck(p) ? [] : [p]) }),
  },
  {
    bug: 'the last byte of a READ response is wrong',
    ...{ property: 'responder-sequences', rules: ['RD-01'], packets: 3 },
    bend: changed(
      (p) => is(p, OpFlag.ReadResponse) && (p.payload?.length ?? 0) > 0,
      (p) => {
        const payload = p.payload?.slice() ?? new Uint8Array(0);
        payload[payload.length - 1] = (payload.at(-1) ?? 0) ^ 1;
        return { ...p, payload };
      },
    ),
  },
  {
    bug: 'a key that opens nothing is an invalid request',
    ...{ property: 'responder-faults', rules: ['KEY-01', 'KEY-05', 'MPE-03', 'MPE-06'], packets: 1 },
    bend: changed(
      (p) => isNak(p, 0x62),
      (p) => ({ ...p, syndrome: 0x61 }),
    ),
  },
  {
    bug: 'payload beyond the path MTU is cut off instead of refused',
    ...{ property: 'responder-faults', rules: ['LEN-01', 'LEN-02', 'LEN-03'], packets: 3 },
    bend: () => ({
      tx: (p) => [
        is(p, OpFlag.Send) && (p.payload?.length ?? 0) > 256
          ? { ...p, payload: p.payload?.slice(0, 256) ?? new Uint8Array(0) }
          : p,
      ],
    }),
  },
  {
    bug: 'an atomic returns what it has made',
    ...{ property: 'responder-sequences', rules: ['ATM-03'], packets: 3 },
    bend: changed(
      (p) => p.opcode === Op.AtomicAcknowledge,
      (p) => ({ ...p, original: (p.original ?? 0n) + 1n }),
    ),
  },
  {
    bug: 'a duplicate atomic is not answered',
    ...{ property: 'responder-duplicates', rules: ['ATM-05'], packets: 3 },
    bend: () => {
      let newest = -1;
      return {
        rx(p) {
          if (p.opcode !== Op.AtomicAcknowledge) return [p];
          const old = p.psn <= newest;
          newest = Math.max(newest, p.psn);
          return old ? [] : [p];
        },
      };
    },
  },
  {
    bug: 'a duplicate WRITE goes to memory',
    ...{ property: 'responder-duplicates', rules: ['RSP-PSN-08', 'RSP-PSN-10', 'RD-01'], packets: 5 },
    bend: () => {
      // Seen from outside: the first one had what the last one has.
      const seen = new Map<number, Packet>();
      return {
        tx(p) {
          const before = seen.get(p.psn);
          seen.set(p.psn, p);
          if (before === undefined || p.opcode !== Op.WriteOnly || before.opcode !== p.opcode) return [p];
          return [{ ...p, psn: Math.max(...seen.keys()) + 1 }];
        },
      };
    },
  },
  {
    bug: 'a SEND without a receive is dropped in silence',
    ...{ property: 'responder-sequences', rules: ['RNR-01', 'RNR-02'], packets: 4 },
    bend: () => ({ rx: (p) => ((p.syndrome ?? 0) >> 5 === 1 && p.opcode === Op.Acknowledge ? [] : [p]) }),
  },
  {
    bug: 'the tail of a READ begins with MIDDLE',
    ...{ property: 'responder-duplicates', rules: ['RD-02', 'RD-09', 'RD-07', 'RD-08'], packets: 5 },
    bend: () => {
      let first = -1;
      return {
        rx(p) {
          if (p.opcode !== Op.ReadResponseFirst) return [p];
          const tail = p.psn <= first;
          first = Math.max(first, p.psn);
          return [tail ? { opcode: Op.ReadResponseMiddle, psn: p.psn, payload: p.payload ?? new Uint8Array(0) } : p];
        },
      };
    },
  },
];

describe('a responder with a bug', () => {
  it.each(BUGS)('is found out: $bug', async ({ property, rules, packets, bend }) => {
    const options = { subject: bent(subject, bend), profile: PROFILES.strict, runs: 2000, seed: 8, only: [property] };
    const [report] = await runProperties(options);
    expect(rules).toContain(report?.counterexample?.ruleId);
    expect(report?.counterexample?.packets.length).toBeLessThanOrEqual(packets);
    expect(report?.counterexample?.lines.length).toBeGreaterThan(0);
    // Seed and path lead straight back to it.
    const path = report?.counterexample?.path ?? '';
    const [again] = await runProperties({ ...options, path });
    expect(again?.counterexample?.ruleId).toBe(report?.counterexample?.ruleId);
    expect(again?.runs).toBe(1);
  });
});
