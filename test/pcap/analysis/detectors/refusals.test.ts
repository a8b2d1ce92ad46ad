/**
 * Goal: the findings of symptoms 5 to 7 name the request that was refused with its key, address and length, and guess
 * rightly why. Method: scenes in which the reason is known, one for each guess; and the same with the evidence for the
 * guess taken out of the capture.
 */
import { describe, expect, it } from 'vitest';
import { Op, OpFlag } from '../../../../packets/opcode.ts';
import { guessInvalid } from '../../../../pcap/analysis/detectors/invalid-guess.ts';
import { RequestMemory } from '../../../../pcap/analysis/detectors/request-memory.ts';
import type { Finding } from '../../../../pcap/analysis/types.ts';
import { roceFrame, station } from '../../../../tools/symptoms/forge.ts';
import { aeth, reth } from '../../../../tools/symptoms/headers.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

async function finding(scene: string, id: string): Promise<Finding> {
  return findingOf(analyze(await sceneNamed(scene).make()), id);
}

describe('remote-access-error', () => {
  it.each([
    ['remote-access-wrong-key', 'other-key', 'the same memory was used with key 0x'],
    ['remote-access-old-key', 'key-ended', 'probably deregistered'],
    ['remote-access-beyond-the-end', 'beyond-range', 'stayed within'],
    ['remote-access-no-right', 'right-missing', 'IBV_ACCESS_REMOTE_READ is probably missing'],
    ['remote-access-first-request', 'unknown', 'no earlier request of the capture used this key'],
    ['remote-access-invalidated', 'key-invalidated', 'invalidated by the SEND with invalidate in frame 9'],
  ])('guesses %s as %s', async (scene, guess, words) => {
    const { severity, evidence, text, frames } = await finding(scene, 'remote-access-error');
    expect([severity, evidence['guess']]).toEqual(['error', guess]);
    expect(text).toContain(words);
    expect(frames).toHaveLength(2);
  });

  it('prints key, address and length of the request, and the frames of both', async () => {
    const { evidence, text, frames } = await finding('remote-access-wrong-key', 'remote-access-error');
    expect(evidence).toMatchObject({ psn: 112, rkey: '0x12345678', va: '0x7f0000000000', length: 3_000, naks: 1 });
    expect(text).toContain('a WRITE of 3000 bytes at 0x7f0000000000 with rkey 0x12345678 (frame 21, PSN 112)');
    expect(frames).toEqual([21, 24]);
  });

  it('names the range that was used before and where this request ends', async () => {
    const { text } = await finding('remote-access-beyond-the-end', 'remote-access-error');
    const [, from = '', to = '', end = ''] =
      /within (0x[0-9a-f]+) to (0x[0-9a-f]+) .* ends at (0x[0-9a-f]+)/.exec(text) ?? [];
    expect(BigInt(to) - BigInt(from)).toBe(16_000n);
    expect(BigInt(end) - BigInt(from)).toBe(20_000n);
  });

  it('says so when the capture does not have the request', async () => {
    const packets = packetsOf(await sceneNamed('remote-access-wrong-key').make());
    const { text, evidence } = findingOf(
      analyze(packets.filter(({ number }) => number < 19 || number > 23)),
      'remote-access-error',
    );
    expect(text).toContain('the request with PSN 112, which is not in the capture');
    expect(evidence['rkey']).toBeUndefined();
  });

  it('knows a key that differs in its last byte for one that was renewed, and a range beyond the end of memory', async () => {
    const refused = async (rkey: number, va: bigint, length: number): Promise<Finding> => {
      const capture = await play({}, async (stage) => {
        await stage.forgeAll([
          write(10, 0x1000n, 0xaabb_cc01, 64),
          answer(10, 0x1f),
          write(11, va, rkey, length),
          answer(11, 0x62),
        ]);
      });
      return findingOf(analyze(capture), 'remote-access-error');
    };
    expect((await refused(0xaabb_cc02, 0x9000n, 64)).evidence['guess']).toBe('key-renewed');
    expect((await refused(0xaabb_cd01, 0x9000n, 64)).evidence['guess']).toBe('key-never-used');
    expect((await refused(0xaabb_cc01, 0xffff_ffff_ffff_fff0n, 64)).text).toContain(
      'beyond the end of the address space',
    );
    expect((await refused(0xaabb_cc01, 0x1010n, 48)).evidence['guess']).toBe('key-ended');
    expect((await refused(0xaabb_cc01, 0x1010n, 49)).evidence['guess']).toBe('beyond-range');
    expect((await refused(0xaabb_cc01, 0xfffn, 1)).evidence['guess']).toBe('beyond-range');
  });

  it('does not take a request that was refused itself for one that worked', async () => {
    const wrong = 0x1234_5678;
    const capture = await play({}, async (stage) => {
      await stage.forgeAll([
        write(10, 0x1000n, wrong, 64, 0x22),
        answer(10, 0x62, 0x11),
        write(10, 0x1000n, wrong, 64, 0x33),
        answer(10, 0x62, 0x12),
      ]);
    });
    expect(findingOf(analyze(capture), 'remote-access-error')).toMatchObject({
      evidence: { naks: 2, guess: 'unknown' },
    });
  });
});

describe('remote-invalid-request', () => {
  it.each([
    ['invalid-request-short-receive', 'receive-too-small', 'no', 'a message of 5000 bytes or more is probably longer'],
    ['invalid-request-not-permitted', 'not-permitted', 'no', 'does not allow READs (qp_access_flags).'],
    ['invalid-request-unaligned-atomic', 'atomic-alignment', 'yes', '0x7f000000000c, which is not a multiple of eight'],
    ['invalid-request-sequence', 'opcode-order', 'yes', 'RC RDMA WRITE Middle follows RC SEND First (frame 3)'],
    ['invalid-request-length', 'write-length', 'yes', 'carry 1224 bytes, and its RETH (frame 3) says 5000'],
  ])('explains %s as %s', async (scene, rule, certain, words) => {
    const { severity, evidence, text, advice } = await finding(scene, 'remote-invalid-request');
    expect([severity, evidence['rule'], evidence['certain']]).toEqual(['error', rule, certain]);
    expect(text).toContain(words);
    expect(advice.length).toBe(3);
  });

  it.each([
    ['opcode-order', [[Op.WriteMiddle, 1024, undefined]]],
    [
      'opcode-order',
      [
        [Op.SendFirst, 1024, undefined],
        [Op.SendOnly, 8, undefined],
      ],
    ],
    ['write-length', [[Op.WriteOnly, 64, 65]]],
    [
      'write-length',
      [
        [Op.WriteFirst, 1024, 2000],
        [Op.WriteLast, 977, undefined],
      ],
    ],
    [
      'not-permitted',
      [
        [Op.WriteFirst, 1024, 2000],
        [Op.WriteLast, 976, undefined],
      ],
    ],
    [
      'receive-too-small',
      [
        [Op.SendFirst, 1024, undefined],
        [Op.SendLast, 8, undefined],
      ],
    ],
    ['not-supported', [[Op.AtomicWrite, 8, 8]]],
  ] as const)('calls it %s', async (rule, requests) => {
    const capture = await play({}, async (stage) => {
      stage.forge(request(Op.SendOnly, 10, 8));
      stage.forge(answer(10, 0x1f));
      for (const [index, [opcode, bytes, dmaLength]] of requests.entries()) {
        stage.forge(request(opcode, 11 + index, bytes, dmaLength));
        await stage.sleep(1_000);
      }
      stage.forge(answer(10 + requests.length, 0x61));
    });
    expect(findingOf(analyze(capture), 'remote-invalid-request').evidence['rule']).toBe(rule);
  });

  it('counts the READs that were outstanding against those that were agreed on', async () => {
    const { conversations } = analyze(await sceneNamed('remote-access-first-request').make());
    const [conversation] = conversations;
    if (conversation?.cm === undefined) throw new Error('connection management is in the capture');
    const [a, b] = conversation.ends;
    const guess = (mostOutstandingReads: number) => {
      const ends = [{ ...a, requester: { ...a.requester, mostOutstandingReads } }, b] as const;
      const cm = { ...conversation.cm, responderResources: 4 } as typeof conversation.cm;
      const read = {
        opcode: Op.ReadRequest,
        flags: OpFlag.Request | OpFlag.Read | OpFlag.Only,
        dmaLength: 100,
        payloadBytes: 0,
      };
      const rest = { requester: 0, psn: 5, frame: 9, padCount: 0, va: 8n, rkey: 1 } as const;
      return guessInvalid({ ...read, ...rest, conversation: { ...conversation, ends, cm } }, new RequestMemory());
    };
    expect(guess(5)).toMatchObject({ rule: 'too-many-reads', certain: true });
    expect(guess(5).text).toContain('5 READs and atomics were outstanding, and 4 were agreed on');
    expect(guess(4)).toMatchObject({ rule: 'not-permitted', certain: false });
    expect(guess(4).text).toContain('than the 4 that were outstanding');
    expect(guess(1).text).not.toContain('outstanding');
  });
});

describe('remote-operational-error', () => {
  it('names the request and blames the receive that it fell into', async () => {
    const { severity, text, evidence, frames } = await finding(
      'operational-error-freed-receive',
      'remote-operational-error',
    );
    expect(severity).toBe('error');
    expect(text).toContain('10.0.0.2 failed at a SEND of several packets (frame 9, PSN 103) of 10.0.0.1');
    expect(text).toContain('the receive that it fell into');
    expect([evidence['psn'], frames]).toEqual([103, [9, 12]]);
  });

  it('tells of all connections between two hosts at once', async () => {
    const { evidence, conversations, text } = await finding('operational-error-two-pairs', 'remote-operational-error');
    expect([evidence['naks'], conversations]).toEqual([2, [1, 2]]);
    expect(text).toContain('1 more request between these hosts');
  });
});

function write(psn: number, va: bigint, rkey: number, dmaLength: number, destQpn = 0x22): Uint8Array {
  const ends = { from: station(1), to: station(2), destQpn };
  const payload = new Uint8Array(Math.min(dmaLength, 1024));
  return roceFrame({ ...ends, opcode: Op.WriteOnly, psn, ipId: psn, headers: reth(va, rkey, dmaLength), payload });
}

function request(opcode: number, psn: number, bytes: number, dmaLength?: number): Uint8Array {
  const ends = { from: station(1), to: station(2), destQpn: 0x22 };
  const headers = dmaLength === undefined ? new Uint8Array(0) : reth(0x1000n, 7, dmaLength);
  return roceFrame({ ...ends, opcode, psn, ipId: psn, headers, payload: new Uint8Array(bytes) });
}

function answer(psn: number, syndrome: number, destQpn = 0x11): Uint8Array {
  const ends = { from: station(2), to: station(1), destQpn };
  return roceFrame({ ...ends, opcode: Op.Acknowledge, psn, ipId: psn, headers: aeth(syndrome, 1) });
}
