/**
 * Goal: our requester holds its properties; one with a bug does not, the rule it breaks is named, and what shows it is
 * short. Method: the device in-process, as it is and through a bent glass; seeds are fixed, so that every run is the
 * same.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { Packet } from '../../../../packets/kit/packet.ts';
import { OPCODE_FLAGS, Op, OpFlag } from '../../../../packets/opcode.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { runProperties } from '../../../../tools/conformance/properties/run-properties.ts';
import type { SubjectConnectionOptions } from '../../../../tools/conformance/properties/subject.ts';
import { testerSubject } from '../../../../tools/conformance/properties/tester-subject.ts';
import { fcRuns } from '../../../transport/support/peer.ts';
import { type Bend, bent } from './bent.ts';

const dut = new InProcessDut({ seed: 8 });
afterAll(() => dut.close());
const subject = testerSubject(dut, 8);
const NAMES = ['requester-answers', 'requester-loss'] as const;

describe('our requester', () => {
  it.each(NAMES)('holds %s', async (name) => {
    const options = { subject, profile: PROFILES.strict, runs: fcRuns(300), seed: 42, only: [name] };
    const [report] = await runProperties(options);
    expect(report?.counterexample?.lines).toBeUndefined();
    expect(report).toMatchObject({ property: name, runs: fcRuns(300), inconclusive: 0, astray: 0, cutShort: false });
    expect(report?.packets).toBeGreaterThan(fcRuns(300));
  });

  it('is not held to anything without host control', async () => {
    const [report] = await runProperties({
      ...{ subject: { ...subject, hostControl: false }, profile: PROFILES.strict, runs: 1, seed: 1 },
      only: ['requester-loss'],
    });
    expect(report).toMatchObject({ runs: 0, skipped: expect.stringContaining('agent') });
  });
});

const isNak = ({ opcode, syndrome }: Packet, code: number): boolean => opcode === Op.Acknowledge && syndrome === code;
const isAck = ({ opcode, syndrome = 0xff }: Packet): boolean => opcode === Op.Acknowledge && syndrome < 0x20;
const is = (packet: Packet, flag: number): boolean => ((OPCODE_FLAGS[packet.opcode] ?? 0) & flag) !== 0;

interface Bug {
  readonly bug: string;
  readonly property: (typeof NAMES)[number];
  readonly rules: readonly string[];
  /** Lines of the ladder that are enough to show it. */
  readonly lines: number;
  readonly bend?: () => Bend;
  readonly options?: Partial<SubjectConnectionOptions>;
}

const BUGS: readonly Bug[] = [
  {
    bug: 'a NAK 0x60 is not heard',
    ...{ property: 'requester-answers', rules: ['REQ-15'], lines: 4 },
    bend: () => ({ tx: (p) => (isNak(p, 0x60) ? [] : [p]) }),
  },
  {
    bug: 'an ACK of what was never sent completes what is open',
    ...{ property: 'requester-answers', rules: ['REQ-03'], lines: 4 },
    bend: () => {
      let newest = 0;
      return {
        rx(p) {
          newest = Math.max(newest, p.psn);
          return [p];
        },
        tx: (p) => [isAck(p) && p.psn > newest ? { ...p, psn: newest } : p],
      };
    },
  },
  {
    bug: 'packets go out twice',
    ...{ property: 'requester-loss', rules: ['REQ-28', 'REQ-15'], lines: 4 },
    bend: () => ({ rx: (p) => [p, p] }),
  },
  {
    bug: 'what follows a READ has the next PSN, not the one behind its responses',
    ...{ property: 'requester-loss', rules: ['OPS-14', 'OPS-17', 'LEN-13', 'REQ-26', 'REQ-25'], lines: 6 },
    bend: () => {
      let read = -1;
      return {
        rx(p) {
          if (p.opcode === Op.ReadRequest && (p.reth?.length ?? 0) > 256 && read < 0) read = p.psn;
          return [read >= 0 && p.psn > read ? { ...p, psn: p.psn - 1 } : p];
        },
      };
    },
  },
  {
    bug: 'a READ is resumed at the wrong address',
    ...{ property: 'requester-loss', rules: ['REQ-25'], lines: 16 },
    bend: () => {
      const seen = new Set<number>();
      return {
        rx(p) {
          const again =
            p.opcode === Op.ReadRequest && [...seen].some((psn) => psn < p.psn && p.psn - psn < 3) && !seen.has(p.psn);
          if (p.opcode === Op.ReadRequest) seen.add(p.psn);
          return [again && p.reth !== undefined ? { ...p, reth: { ...p.reth, va: p.reth.va + 8n } } : p];
        },
      };
    },
  },
  {
    bug: 'an access error is told as an invalid request',
    ...{ property: 'requester-answers', rules: ['REQ-18'], lines: 5 },
    bend: () => ({ tx: (p) => [isNak(p, 0x62) ? { ...p, syndrome: 0x61 } : p] }),
  },
  {
    bug: 'what a READ brings is wrong',
    ...{ property: 'requester-loss', rules: ['REQ-36'], lines: 8 },
    bend: () => ({
      tx: (p) => [
        is(p, OpFlag.ReadResponse) && p.payload !== undefined
          ? { ...p, payload: p.payload.map((byte) => byte ^ 1) }
          : p,
      ],
    }),
  },
  {
    bug: 'the wait of an RNR NAK is too short',
    ...{ property: 'requester-answers', rules: ['RNR-08'], lines: 5 },
    bend: () => ({ tx: (p) => [isNak(p, 0x25) ? { ...p, syndrome: 0x21 } : p] }),
  },
  {
    bug: 'more READs are open than there may be',
    ...{ property: 'requester-answers', rules: ['REQ-29'], lines: 6 },
    options: { maxRdAtomic: 16 },
  },
  {
    bug: 'a fence holds nothing back',
    ...{ property: 'requester-answers', rules: ['REQ-30'], lines: 5 },
    bend: () => ({ post: (request) => ({ ...request, fence: false }) }),
  },
  {
    bug: 'a completion is lost',
    ...{ property: 'requester-answers', rules: ['REQ-07'], lines: 8 },
    bend: () => ({ completions: (found) => found.filter(({ wrId }) => wrId !== 1) }),
  },
  {
    bug: 'completions come in the wrong order',
    ...{ property: 'requester-loss', rules: ['REQ-06', 'REQ-03', 'REQ-04', 'REQ-05'], lines: 12 },
    bend: () => ({ completions: (found) => [...found].reverse() }),
  },
];

describe('a requester with a bug', () => {
  it.each(BUGS)('is found out: $bug', async ({ property, rules, lines, bend = () => ({}), options = {} }) => {
    const [report] = await runProperties({
      ...{ subject: bent(subject, bend, options), profile: PROFILES.strict, runs: 2000, seed: 1, only: [property] },
    });
    expect(rules).toContain(report?.counterexample?.ruleId);
    expect(report?.counterexample?.lines.length).toBeLessThanOrEqual(lines);
  });
});
