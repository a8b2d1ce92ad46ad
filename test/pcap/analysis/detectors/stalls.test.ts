/**
 * Goal: what ends a stall and what does not, who is to blame for a silence, and when a requester has given up.
 * Method: conversations written down packet by packet, with the time between them, and the alarms that are right.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { roceFrame, type Station, station, tcpFrame, withBadIcrc } from '../../../../tools/symptoms/forge.ts';
import { aeth } from '../../../../tools/symptoms/headers.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import type { Stage } from '../../../../tools/symptoms/stage.ts';
import { alarmIds, alarms, analyze, findingOf } from './support.ts';

/** A frame, or nanoseconds that pass before the next one. */
type Line = Uint8Array | number;

/** Two queue pairs, and frames of either; identifications count up by host, as those of most senders. */
class Pair {
  readonly #a: Station;
  readonly #b: Station;
  readonly #qpnOfA: number;
  readonly #qpnOfB: number;
  #ipId = 100;

  constructor(a = 1, b = 2, qpns: readonly [number, number] = [0x11, 0x22]) {
    this.#a = station(a);
    this.#b = station(b);
    [this.#qpnOfA, this.#qpnOfB] = qpns;
  }

  /** A SEND of A. */
  ask(psn: number): Uint8Array {
    return this.#frame(true, Op.SendOnly, psn, new Uint8Array(0));
  }

  /** An answer of B: an ACK, or what the syndrome says. */
  answer(psn: number, syndrome = 0x1f): Uint8Array {
    return this.#frame(false, Op.Acknowledge, psn, aeth(syndrome, 1));
  }

  /** A SEND of B, and an answer of A. */
  askBack(psn: number): Uint8Array {
    return this.#frame(false, Op.SendOnly, psn, new Uint8Array(0));
  }

  answerBack(psn: number, syndrome = 0x1f): Uint8Array {
    return this.#frame(true, Op.Acknowledge, psn, aeth(syndrome, 1));
  }

  /** So many tries of A, a millisecond apart; another one passes after the last. */
  tries(count: number, psn: number): Line[] {
    return Array.from({ length: count }, () => [this.ask(psn), 1e6]).flat();
  }

  triesBack(count: number, psn: number): Line[] {
    return Array.from({ length: count }, () => [this.askBack(psn), 1e6]).flat();
  }

  #frame(fromA: boolean, opcode: number, psn: number, headers: Uint8Array): Uint8Array {
    const [from, to] = fromA ? [this.#a, this.#b] : [this.#b, this.#a];
    const destQpn = fromA ? this.#qpnOfB : this.#qpnOfA;
    const payload = new Uint8Array(opcode === Op.SendOnly ? 8 : 0);
    return roceFrame({ from, to, opcode, destQpn, psn, ackReq: 1, ipId: this.#ipId++, headers, payload });
  }
}

async function tell(lines: readonly Line[]): Promise<Analysis> {
  const script = async (stage: Stage): Promise<void> => {
    for (const line of lines) {
      if (typeof line === 'number') await stage.sleep(line);
      else {
        stage.forge(line);
        await stage.sleep(5_000);
      }
    }
  };
  return analyze(await play({}, script));
}

/** The capture goes on for so long. */
const goesOn = (ns: number): Line[] => [ns, tcpFrame(station(8), station(9), 1, 2)];

describe('a silence', () => {
  it('ends with any answer to the request or to a later one', async () => {
    const pair = new Pair();
    const lines = [pair.ask(1), pair.answer(1), ...pair.tries(4, 2), pair.answer(2), ...goesOn(20e6)];
    expect(alarmIds(await tell(lines))).toEqual([]);
  });

  it('does not end with an answer to what was answered before', async () => {
    const pair = new Pair();
    const lines = [pair.ask(1), pair.answer(1), ...pair.tries(4, 2), pair.answer(1), ...goesOn(20e6)];
    expect(alarmIds(await tell(lines))).toContain('retry-exceeded');
  });

  it('ends with a NAK, for somebody is there', async () => {
    const pair = new Pair();
    const lines = [pair.ask(1), pair.answer(1), ...pair.tries(4, 2), pair.answer(2, 0x60), pair.ask(2), pair.answer(2)];
    expect(alarmIds(await tell([...lines, ...goesOn(20e6)]))).not.toContain('retry-exceeded');
  });

  it('is counted once where the capture shows every frame twice', async () => {
    const pair = new Pair();
    const tries = pair.tries(8, 2).flatMap((line): Line[] => (typeof line === 'number' ? [line] : [line, line]));
    const analysis = await tell([...tries, ...goesOn(20e6)]);
    expect(findingOf(analysis, 'no-reply')).toMatchObject({ severity: 'error', frameCount: 8, evidence: { tries: 8 } });
  });

  it('of packets with a wrong ICRC is no silence: they were never taken', async () => {
    const pair = new Pair();
    const damaged = pair.tries(8, 2).map((line) => (typeof line === 'number' ? line : withBadIcrc(line)));
    expect(alarmIds(await tell([...damaged, ...goesOn(20e6)]))).toEqual(['icrc-invalid']);
  });

  it('of nine tries and more is one that goes on: no retry count allows so many', async () => {
    const pair = new Pair();
    const nine = findingOf(await tell(pair.tries(9, 2)), 'no-reply');
    expect(nine).toMatchObject({ severity: 'warning', evidence: { tries: 9 } });
    expect(nine.text).toContain('still retries');
    expect(findingOf(await tell(pair.tries(8, 2)), 'no-reply').severity).toBe('error');
  });

  it('is none when the requester goes on with new requests: it has its answers by another way', async () => {
    const pair = new Pair();
    const seesA = tcpFrame(station(2), station(1), 1, 2);
    const goesAhead = (count: number): Line[] =>
      Array.from({ length: count }, (_, i) => [pair.ask(10 + i), 1e6]).flat();
    const lines = [seesA, ...pair.tries(3, 9), ...goesAhead(6), ...goesOn(20e6)];
    expect(alarmIds(await tell(lines))).toEqual([]);
    // A few that follow within the wait may have been posted meanwhile.
    const posted = [seesA, ...pair.tries(3, 9), ...goesAhead(2), ...goesOn(20e6)];
    expect(alarmIds(await tell(posted))).toEqual(['no-reply']);
    // Without anything that went to A the capture may have one direction only.
    expect(alarmIds(await tell(posted.slice(1)))).toEqual([]);
  });

  it('is one for each connection, and told once for two hosts, with the other direction', async () => {
    const pair = new Pair();
    const lines: Line[] = [pair.ask(1), pair.answer(1), pair.askBack(7), pair.answerBack(7)];
    for (let i = 0; i < 4; i++) lines.push(pair.ask(2), pair.askBack(8), ...goesOn(1e6).slice(1));
    const analysis = await tell([...lines.flatMap((line) => [line, 300_000]), ...goesOn(20e6)]);
    expect(alarmIds(analysis)).toEqual(['retry-exceeded']);
    expect(alarms(analysis)).toHaveLength(1);
    expect(findingOf(analysis, 'retry-exceeded').text).toContain(
      'The other direction of the connection failed as well.',
    );
  });
});

describe('a refusal', () => {
  const RNR_80_US = 0x26;
  const rnr = (pair: Pair, count: number, psn: number): Line[] =>
    Array.from({ length: count }, () => [pair.ask(psn), pair.answer(psn, RNR_80_US), 80_000]).flat();

  it('ends with a NAK of a later request, for the first was taken', async () => {
    const pair = new Pair();
    const taken = [...rnr(pair, 5, 3), pair.ask(3), pair.ask(4), pair.answer(5, 0x60)];
    expect(alarmIds(await tell([...taken, ...goesOn(5e6)]))).not.toContain('rnr-exceeded');
    const echo = [...rnr(pair, 5, 3), pair.ask(3), pair.answer(3, RNR_80_US), pair.ask(4), pair.answer(3, 0x60)];
    expect(alarmIds(await tell([...echo, ...goesOn(5e6)]))).toEqual(['rnr-exceeded']);
  });

  it('is followed by a worse one: the NAK that ends the connection is the cause of what comes then', async () => {
    const pair = new Pair();
    const lines = [pair.askBack(7), pair.answerBack(7), ...rnr(pair, 2, 3), pair.ask(3), pair.answer(3, 0x63), 1e5];
    const analysis = await tell([...lines, ...pair.triesBack(4, 8), ...goesOn(20e6)]);
    expect(alarmIds(analysis)).toEqual(['first-error', 'remote-operational-error']);
    expect(findingOf(analysis, 'first-error').evidence['cause']).toBe('NAK remote operational error');
  });

  it('is not over when the requester tries once more and nobody answers', async () => {
    const pair = new Pair();
    const lines = [...rnr(pair, 3, 3), ...pair.tries(4, 3)];
    expect(alarmIds(await tell([...lines, ...goesOn(20e6)]))).toEqual(['retry-exceeded']);
  });

  it('that takes a tenth of the time is a warning even if it ends well', async () => {
    const story = async (refused: number, sleepNs: number): Promise<string> => {
      const pair = new Pair();
      const lines = [
        ...rnr(pair, 3, 3),
        pair.ask(3),
        pair.answer(3),
        ...rnr(pair, refused - 3, 4),
        pair.ask(4),
        pair.answer(4),
      ];
      const end = [sleepNs, pair.ask(5), pair.answer(5)];
      return findingOf(await tell([...lines, ...end]), 'rnr-exceeded').severity;
    };
    expect(await story(10, 1e6)).toBe('warning');
    expect(await story(9, 1e6)).toBe('note');
    expect(await story(10, 10e6)).toBe('note');
  });

  it('of an endless retry count that connection management told is not the last at the eighth time', async () => {
    const capture = await play({ vantages: ['A'] }, async (stage) => {
      const pair = await stage.connect(stage.host('A'), stage.host('B'), { cm: true, rnrRetry: 7, minRnrTimer: 6 });
      void pair.b.send(100);
      // Eight refusals at intervals of 80 us and a round trip.
      await stage.sleep(8 * 87_000 - 100_000);
    });
    expect(findingOf(analyze(capture), 'rnr-exceeded')).toMatchObject({
      severity: 'warning',
      evidence: { naks: 8, rnrRetryCount: 7 },
    });
  });
});

describe('the first failure', () => {
  it('is not the cause of what had begun before it', async () => {
    const pair = new Pair();
    const before = [pair.askBack(7), pair.answerBack(7), pair.ask(1), pair.answer(1)];
    const silence = pair.triesBack(4, 8);
    const lines = [
      ...before,
      ...silence.slice(0, 4),
      pair.ask(2),
      pair.answer(2, 0x62),
      ...silence.slice(4),
      ...goesOn(20e6),
    ];
    expect(alarmIds(await tell(lines))).toEqual(['remote-access-error', 'retry-exceeded']);
  });

  it('is the silence of the same connection that came first, whatever the direction', async () => {
    const pair = new Pair();
    const before = [pair.askBack(7), pair.answerBack(7), pair.ask(1), pair.answer(1)];
    const lines = [...before, ...pair.tries(4, 2), 10e6, ...pair.triesBack(4, 8), ...goesOn(20e6)];
    const analysis = await tell(lines);
    expect(alarmIds(analysis)).toEqual(['first-error', 'retry-exceeded']);
    expect(findingOf(analysis, 'first-error').evidence['cause']).toBe('retries used up');
    expect(findingOf(analysis, 'retry-exceeded').text).not.toContain('other direction');
  });

  it('of one connection explains no silence of another one when it is a silence itself', async () => {
    const [one, other] = [new Pair(), new Pair(1, 2, [0x33, 0x44])];
    const before = [one.ask(1), one.answer(1), other.ask(1), other.answer(1)];
    const lines = [...before, ...one.tries(4, 2), 10e6, ...other.tries(4, 2), ...goesOn(20e6)];
    const analysis = await tell(lines);
    expect(alarmIds(analysis)).toEqual(['retry-exceeded']);
    expect(findingOf(analysis, 'retry-exceeded').evidence['connections']).toBe(2);
  });

  it('explains what begins within ten seconds on other connections of the same hosts, and no others', async () => {
    const story = async (waitNs: number, c = 2): Promise<string[]> => {
      const [one, other] = [new Pair(), new Pair(1, c, [0x33, 0x44])];
      const before = [one.ask(1), one.answer(1), other.ask(1), other.answer(1)];
      const lines = [...before, one.ask(2), one.answer(2, 0x62), waitNs, ...other.tries(4, 2), ...goesOn(20e6)];
      return alarmIds(await tell(lines));
    };
    expect(await story(9.9e9)).toEqual(['first-error', 'remote-access-error']);
    expect(await story(10.1e9)).toEqual(['remote-access-error', 'retry-exceeded']);
    expect(await story(1e6, 3)).toEqual(['remote-access-error', 'retry-exceeded']);
  });
});
