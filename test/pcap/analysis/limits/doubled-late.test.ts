/**
 * Goal: frames that a mirror shows once more after a while are named, and raise no alarm, whether identifications tell
 * them from retransmissions or not; real retransmissions raise theirs. Method: SENDs line by line, each frame once more
 * 400 us later; and the same with timeouts.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { Script, type ScriptOptions } from '../tracker/script.ts';
import { analyze, numbered, shifted } from './made-captures.ts';

const timeOf = ({ seconds, nanoseconds }: CapturedPacket): number => seconds * 1e9 + nanoseconds;

function told(packets: readonly CapturedPacket[]) {
  const { limits, findings } = analyze(numbered([...packets].sort((a, b) => timeOf(a) - timeOf(b))));
  return {
    limits: limits.map(({ kind }) => kind),
    alarms: findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id),
    lowered: findings.filter(({ evidence }) => evidence['loweredBy'] === 'doubled-late').map(({ id }) => id),
  };
}

/** SENDs with their ACKs, and a pause behind each. */
function sends(ids: ScriptOptions['ids'] & string, pauseNs: number, count = 200): Script {
  const script = new Script({ ids });
  for (let psn = 0; psn < count; psn++) {
    script
      .a(Op.SendOnly, psn)
      .wait(4000)
      .ack(psn, { msn: psn + 1 })
      .wait(pauseNs);
  }
  return script;
}

const twice = (packets: readonly CapturedPacket[], byNs: number) =>
  packets.flatMap((packet, i) => [packet, shifted(packet, byNs + (i % 3) * 10_000)]);

describe('frames that a mirror shows once more 400 us later', () => {
  it('may have been sent again where nothing tells them apart: no alarm', () => {
    for (const ids of ['constant', 'ipv6'] as const) {
      const { limits, alarms, lowered } = told(twice(sends(ids, 1e6).packets, 400_000));
      expect({ limits, alarms }).toEqual({ limits: ['doubled-late'], alarms: [] });
      expect(lowered.sort()).toEqual(['duplicate-requests', 'retry-exceeded']);
    }
  });

  it('are copies where identifications count, or where more came in between', () => {
    expect(told(twice(sends('count', 1e6).packets, 400_000))).toEqual({ limits: ['doubled'], alarms: [], lowered: [] });
    expect(told(twice(sends('constant', 20_000).packets, 400_000))).toEqual({
      ...{ limits: ['doubled'], alarms: [] },
      lowered: [],
    });
  });
});

describe('requests that are sent again', () => {
  it('are no copies of a mirror where they are some of all', () => {
    const script = new Script({ ids: 'constant' });
    for (let psn = 0; psn < 200; psn++) {
      script.a(Op.SendOnly, psn);
      if (psn % 3 === 0) script.wait(4_000_000).a(Op.SendOnly, psn);
      script.wait(4000).ack(psn, { msn: psn + 1 });
    }
    expect(told(script.packets)).toEqual({ limits: [], alarms: ['retry-exceeded'], lowered: [] });
  });

  it('are none where they come again and again', () => {
    const script = sends('ipv6', 10_000, 10);
    for (let psn = 10; psn < 30; psn++) {
      for (let i = 0; i < 4; i++) script.a(Op.SendOnly, psn).wait(4_000_000);
      script.ack(psn, { msn: psn + 1 });
    }
    const { limits, alarms } = told(script.packets);
    expect({ limits, alarms }).toEqual({ limits: [], alarms: ['retry-exceeded'] });
  });

  it('are none where one of them comes more than twice, after the same time', () => {
    const script = new Script({ ids: 'constant' });
    for (let psn = 0; psn < 40; psn++) {
      for (let i = 0; i < (psn === 39 ? 8 : 2); i++) script.a(Op.SendOnly, psn).wait(4_000_000);
      script.ack(psn, { msn: psn + 1 });
    }
    expect(told(script.packets)).toMatchObject({ limits: [], alarms: ['retry-exceeded'] });
  });

  it('are none where they come after times that differ, or later than a mirror is', () => {
    for (const wait of [(psn: number) => 500_000 + 20_000 * (psn % 100), () => 6_000_000]) {
      const script = new Script({ ids: 'constant' });
      for (let psn = 0; psn < 200; psn++) {
        script.a(Op.SendOnly, psn).wait(wait(psn)).a(Op.SendOnly, psn).wait(4000);
        script.ack(psn, { msn: psn + 1 });
      }
      expect(told(script.packets)).toMatchObject({ limits: [], alarms: ['retry-exceeded'] });
    }
  });
});
