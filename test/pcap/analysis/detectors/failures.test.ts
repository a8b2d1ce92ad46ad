/**
 * Goal: the findings of symptoms 1 to 4 say what happened: the right request, tries, waits, timers, severity, and the
 * frames that prove it. Method: scenes whose figures are known beforehand; the frames named are looked up in the
 * capture.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { Finding } from '../../../../pcap/analysis/types.ts';
import { Dissection, dissect } from '../../../../pcap/dissection.ts';
import type { CapturedPacket } from '../../../../pcap/index.ts';
import { play, type Script } from '../../../../tools/symptoms/scene.ts';
import { alarmIds, analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

interface Found {
  readonly finding: Finding;
  readonly packets: readonly CapturedPacket[];
}

async function found(name: string, id: string, from = 0, to = Number.POSITIVE_INFINITY): Promise<Found> {
  const packets = packetsOf(await sceneNamed(name).make()).slice(from, to);
  return { finding: findingOf(analyze(packets), id), packets };
}

/** Opcode and PSN of the packets that a finding names. */
function named({ finding, packets }: Found): string[] {
  const dissection = new Dissection();
  return finding.frames.map((number) => {
    const packet = packets.find((each) => each.number === number);
    if (packet === undefined) throw new Error(`no packet ${number}`);
    dissect(packet, dissection);
    return `${dissection.frame.opcode} ${dissection.frame.psn}`;
  });
}

describe('no-reply', () => {
  it('names every try, the waits and the timeout that they suggest', async () => {
    const firewall = await found('no-reply-firewall', 'no-reply');
    expect(firewall.finding).toMatchObject({ severity: 'error', frameCount: 8, conversations: [1] });
    expect(named(firewall)).toEqual(Array(8).fill(`${Op.SendOnly} 100`));
    expect(firewall.finding.evidence).toMatchObject({
      psn: 100,
      tries: 8,
      timeoutExponent: 8,
      timeoutNs: 1_048_576,
      timeoutFrom: 'waits',
      bothDirectionsSeen: 'yes',
      connections: 1,
    });
    expect(firewall.finding.text).toContain('10.0.0.1 to queue pair');
    expect(firewall.finding.text).toContain('sent 8 times in 7.3 ms');
    expect(firewall.finding.commands.join()).toContain('show_gids');
  });

  it('says when nothing else that went to the requester was captured', async () => {
    const { finding } = await found('no-reply-filtered-capture', 'no-reply');
    expect(finding.severity).toBe('error');
    expect(finding.evidence).toMatchObject({ tries: 8, bothDirectionsSeen: 'no' });
    expect(finding.text).toContain('make sure that it shows both directions');
  });

  it('tells of all queue pairs between two hosts at once', async () => {
    const { finding } = await found('no-reply-three-pairs', 'no-reply');
    expect(finding).toMatchObject({ conversations: [1, 2, 3], frameCount: 6, evidence: { connections: 3, tries: 2 } });
    expect(finding.text).toContain('2 more connections between these hosts');
  });

  it('names the first packet of each try of a long message', async () => {
    const wrong = await found('no-reply-wrong-qpn-ipv6', 'no-reply');
    expect(named(wrong)).toEqual(Array(4).fill(`${Op.WriteFirst} 100`));
  });

  it('waits for two timeouts, and calls it a warning while the capture does not show the end', async () => {
    const packets = packetsOf(await sceneNamed('no-reply-firewall').make());
    const tries = (count: number) => analyze(packets.slice(0, 7 + count));
    expect([1, 2, 3].flatMap((count) => alarmIds(tries(count)))).toEqual([]);
    expect(findingOf(tries(4), 'no-reply')).toMatchObject({ severity: 'warning', evidence: { tries: 4 } });
    expect(findingOf(tries(4), 'no-reply').text).toContain('the capture ends while the requester still retries');
    // Eight tries are as many as any retry count allows.
    expect(findingOf(tries(8), 'no-reply').severity).toBe('error');
  });

  it('takes two tries for a failure only when the capture goes on for three waits', async () => {
    const packets = packetsOf(await sceneNamed('no-reply-firewall').make());
    const last = packets.at(-1);
    if (last === undefined) throw new Error('a scene has packets');
    const [second] = packets.slice(8, 9);
    const later = (ns: number): CapturedPacket[] => {
      const nanoseconds = (second?.nanoseconds ?? 0) + ns;
      return [...packets.slice(0, 9), { ...last, number: 10, nanoseconds }];
    };
    expect(alarmIds(analyze(later(3_100_000)))).toEqual([]);
    expect(findingOf(analyze(later(3_200_000)), 'no-reply')).toMatchObject({
      severity: 'error',
      evidence: { tries: 2 },
    });
  });
});

describe('retry-exceeded', () => {
  it('takes timeout and retries from connection management where it was seen', async () => {
    const cable = await found('retry-exceeded-cable', 'retry-exceeded');
    expect(cable.finding).toMatchObject({
      severity: 'error',
      frameCount: 8,
      evidence: {
        tries: 8,
        retryCount: 7,
        timeoutExponent: 9,
        timeoutNs: 2_097_152,
        timeoutFrom: 'connection management',
      },
    });
    expect(new Set(named(cable)).size).toBe(1);
    expect(cable.finding.text).toContain('then the requester gave up');
  });

  it('reads the timeout from the waits otherwise', async () => {
    const { finding } = await found('retry-exceeded-inferred', 'retry-exceeded');
    expect(finding.evidence).toMatchObject({ tries: 8, timeoutExponent: 9, timeoutFrom: 'waits', lossPercent: 0 });
    expect(finding.evidence['retryCount']).toBeUndefined();
  });

  it('takes note of a timeout that ended well, with the time it cost', async () => {
    const { finding } = await found('retry-exceeded-one-timeout', 'retry-exceeded');
    expect(finding).toMatchObject({ severity: 'note', evidence: { timeouts: 1 }, frameCount: 1 });
    expect(finding.evidence['waitTotalNs']).toBeGreaterThan(2_000_000);
    expect(finding.evidence['waitTotalNs']).toBeLessThan(2_100_000);
    const several = await found('no-reply-answered-in-the-end', 'retry-exceeded');
    expect(several.finding).toMatchObject({ severity: 'note', evidence: { timeouts: 4 } });
  });

  it('warns of timeouts that cost most of the time, though each ended well', async () => {
    const traffic: Script = async (stage) => {
      const [a, b] = [stage.host('A'), stage.host('B')];
      const pair = await stage.connect(a, b, { timeout: 9 });
      for (let i = 0; i < 5; i++) await pair.a.write(pair.b, 3000);
      // ACKs take longer than the ACK timeout.
      stage.faults(b, { delayNs: 5_000_000 });
      for (let i = 0; i < 10; i++) await pair.a.write(pair.b, 3000);
    };
    const finding = findingOf(analyze(await play({ seed: 17 }, traffic)), 'retry-exceeded');
    expect(finding).toMatchObject({ severity: 'warning', evidence: { timeouts: 20 } });
    expect(finding.text).toContain('of the time of the connection');
  });

  it('takes note where the capture ends after two timeouts in a row without an answer', async () => {
    const traffic: Script = async (stage) => {
      const [a, b] = [stage.host('A'), stage.host('B')];
      const pair = await stage.connect(a, b, { timeout: 14 });
      await pair.a.write(pair.b, 3000);
      stage.unplug(b);
      void pair.a.write(pair.b, 3000);
      await stage.goOn(150e6);
    };
    const finding = findingOf(analyze(await play({}, traffic)), 'retry-exceeded');
    expect(finding).toMatchObject({ severity: 'note', evidence: { tries: 3 } });
  });

  it('says how much was lost', async () => {
    const { finding } = await found('retry-exceeded-loss-bursts', 'retry-exceeded');
    expect(finding.evidence['lossPercent']).toBeGreaterThan(5);
    expect(finding.text).toMatch(/\d+ packets of \d+ got lost \(\d+(\.\d)? %\)/);
  });
});

describe('first-error', () => {
  it('names the failure that came first and what followed, and the silences say nothing of their own', async () => {
    const { finding } = await found('first-error-rnr-then-silence', 'first-error');
    expect(finding).toMatchObject({
      severity: 'warning',
      evidence: { cause: 'RNR retries used up', consequences: 1 },
    });
    expect(finding.frames).toContain(finding.evidence['causeFrame']);
    const { finding: other } = await found('first-error-other-pair', 'first-error');
    expect(other).toMatchObject({
      conversations: [1, 2, 3],
      evidence: { cause: 'NAK remote access error', consequences: 2 },
    });
    expect(other.text).toMatch(/first failure is in frame 30: NAK remote access error/);
  });

  it('does not tie together what began before the first failure', async () => {
    const analysis = analyze(await sceneNamed('first-error-unrelated').make());
    expect(alarmIds(analysis)).toEqual(['no-reply', 'remote-access-error']);
  });
});

describe('rnr-exceeded', () => {
  it('decodes the timer and adds up the waits', async () => {
    const exhausted = await found('rnr-exceeded-three-retries', 'rnr-exceeded');
    expect(exhausted.finding).toMatchObject({
      severity: 'error',
      evidence: { psn: 106, naks: 4, rnrTimerCode: 14, rnrTimerNs: 1_280_000 },
    });
    const waited = exhausted.finding.evidence['waitTotalNs'];
    expect(waited).toBeGreaterThan(3 * 1_280_000);
    expect(waited).toBeLessThan(3 * 1_300_000);
    expect(named(exhausted)).toEqual(Array(4).fill(`${Op.Acknowledge} 106`));
    expect(exhausted.finding.text).toContain('code 14, 1.3 ms');
  });

  it('knows the retry count from connection management, so that the last refusal is the end', async () => {
    const { finding } = await found('rnr-exceeded-last-packet', 'rnr-exceeded');
    expect(finding).toMatchObject({ severity: 'error', evidence: { naks: 4, rnrRetryCount: 3 } });
  });

  it('warns of endless waiting, and of the longest timer there is', async () => {
    const { finding } = await found('rnr-exceeded-for-ever', 'rnr-exceeded');
    expect(finding).toMatchObject({
      severity: 'warning',
      frameCount: 21,
      evidence: { naks: 21, rnrTimerCode: 0, rnrTimerNs: 655_360_000 },
    });
    expect(finding.text).toContain('still refused when the capture ends');
  });

  it('takes note of refusals that ended well, with what they cost', async () => {
    const { finding } = await found('rnr-exceeded-ends-well', 'rnr-exceeded');
    expect(finding).toMatchObject({ severity: 'note', evidence: { naks: 2, askedNs: 2_560_000 } });
    expect(finding.text).toContain('but they are posted');
    const { finding: open } = await found('rnr-exceeded-capture-ends', 'rnr-exceeded');
    expect(open).toMatchObject({ severity: 'note', evidence: { naks: 1 } });
    expect(open.text).toContain('the capture ends before the last one is');
  });

  it('calls a refusal at the end of the capture a note, more of them a wait, and four a request that is stuck', async () => {
    const packets = packetsOf(await sceneNamed('rnr-exceeded-for-ever').make());
    const refusals = (count: number) => findingOf(analyze(packets.slice(0, 6 + 2 * count)), 'rnr-exceeded');
    expect(refusals(1)).toMatchObject({ severity: 'note', evidence: { naks: 1 } });
    // 655 ms each, and nothing else happens.
    expect(refusals(3)).toMatchObject({ severity: 'warning', evidence: { naks: 3, sharePercent: 100 } });
    expect(refusals(4)).toMatchObject({ severity: 'warning', evidence: { naks: 4, rnrTimerCode: 0 } });
  });
});
