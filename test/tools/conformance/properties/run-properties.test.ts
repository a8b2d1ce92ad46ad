/**
 * Goal: slowness, silence and death of a device are never told as a difference; what is seen twice is. Method: a device
 * of ours in-process that says its time is real, and that loses, stutters or goes away.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { Packet } from '../../../../packets/kit/packet.ts';
import { Op } from '../../../../packets/opcode.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { HostControlError } from '../../../../tools/conformance/host-control/host-control.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { runProperties } from '../../../../tools/conformance/properties/run-properties.ts';
import type { Subject } from '../../../../tools/conformance/properties/subject.ts';
import { testerSubject } from '../../../../tools/conformance/properties/tester-subject.ts';
import { type Bend, bent } from './bent.ts';

const dut = new InProcessDut({ seed: 5 });
afterAll(() => dut.close());
const real: Subject = { ...testerSubject(dut, 5), virtual: false };
const options = { profile: PROFILES.strict, runs: 5, seed: 3, only: ['responder-sequences'] };

describe('properties of a device in real time', () => {
  it('hold where the device is well', async () => {
    const { only: _, ...every } = options;
    const reports = await runProperties({ ...every, subject: real });
    expect(reports.map(({ counterexample, inconclusive }) => [counterexample, inconclusive])).toEqual(
      reports.map(() => [undefined, 0]),
    );
    expect(reports).toHaveLength(5);
  });

  it('are inconclusive where nothing is answered at all', async () => {
    const [report] = await runProperties({ ...options, subject: bent(real, () => ({ rx: () => [] })) });
    expect(report?.counterexample).toBeUndefined();
    expect(report?.inconclusive).toBe(5);
    expect(report?.reasons[0]).toContain('sentinel');
  });

  it('count what is seen once and not again as inconclusive', async () => {
    let lies = 1;
    const bend = () => ({
      rx: (p: { readonly opcode: number; readonly psn: number; readonly msn?: number }) => [
        lies-- > 0 && p.opcode === Op.Acknowledge ? { ...p, msn: 77 } : p,
      ],
    });
    const [report] = await runProperties({ ...options, subject: bent(real, bend) });
    expect(report?.counterexample).toBeUndefined();
    expect(report?.reasons.join()).toContain('seen once and not again');
  });

  it.each(['requester-answers', 'requester-loss'])('%s holds where answers are not heard at first', async (only) => {
    const slow = { ...bent(real, missesOneInThree), patienceNs: 1e9 };
    const [report] = await runProperties({ ...options, subject: slow, only: [only], runs: 20 });
    expect(report?.counterexample?.lines).toBeUndefined();
    expect(report).toMatchObject({ runs: 20, inconclusive: 0 });
  });

  it('count apart what was judged only up to where a known deviation led the device astray', async () => {
    const known = { ...PROFILES.strict, switches: ['ack-while-repeating-lost' as const] };
    const asked = { ...options, only: ['requester-loss'], runs: 20, profile: known };
    const [report] = await runProperties({ ...asked, subject: bent(real, forgetsWhatItRepeated) });
    expect(report?.counterexample).toBeUndefined();
    expect(report).toMatchObject({ runs: 20, inconclusive: 0 });
    expect(report?.astray).toBeGreaterThan(0);
    expect(report?.astray).toBeLessThan(20);
    const [sound] = await runProperties({ ...asked, subject: real });
    expect(sound).toMatchObject({ runs: 20, astray: 0, inconclusive: 0 });
  });

  it('say what was sent last when the device goes away, and go on with a fresh one', async () => {
    let gone: string | undefined;
    let renewed = 0;
    const dying: Subject = {
      ...bent(real, () => ({
        rx: () => {
          gone = 'kernel panic';
          throw new HostControlError('gone', 'ETIMEDOUT', 'the agent is gone');
        },
      })),
      gone: () => gone,
      async renew() {
        renewed++;
        gone = undefined;
      },
    };
    const reports = await runProperties({
      ...options,
      subject: dying,
      only: ['responder-sequences', 'responder-faults'],
    });
    expect(reports.map(({ killed }) => killed?.why)).toEqual(['kernel panic', 'kernel panic']);
    expect(reports[0]?.killed?.lines.some((line) => line.startsWith('tx '))).toBe(true);
    expect(renewed).toBe(2);
  });

  it('end with the budget', async () => {
    const [report] = await runProperties({ ...options, subject: real, runs: 1000, budgetMs: 0 });
    expect(report).toMatchObject({ cutShort: true });
    expect(report?.runs).toBeLessThan(1000);
  });
});

/** As a device that is just sending again takes no notice of an answer: every third is not heard the first time. */
function missesOneInThree(): Bend {
  const told = new Set<number>();
  const isNak = ({ syndrome = 0 }: Packet): boolean => syndrome >= 0x20;
  return {
    tx: (packet) => {
      if (isNak(packet) || told.has(packet.psn)) return [packet];
      return told.add(packet.psn).size % 3 === 0 ? [] : [packet];
    },
  };
}

/** SENDs and WRITEs of which a packet was sent twice never complete. */
function forgetsWhatItRepeated(): Bend {
  const MTU = 256;
  const ends: number[] = [];
  const seen = new Set<number>();
  const repeated = new Set<number>();
  return {
    post: (request) => {
      ends.push((ends.at(-1) ?? 0) + Math.max(1, Math.ceil(request.length / MTU)));
      return request;
    },
    rx: (packet) => {
      if (seen.has(packet.psn) && packet.opcode < Op.ReadRequest)
        repeated.add(ends.findIndex((end) => packet.psn < end));
      seen.add(packet.psn);
      return [packet];
    },
    completions: (completions) => completions.filter(({ wrId }) => !repeated.has(wrId)),
  };
}
