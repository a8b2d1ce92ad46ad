/**
 * Goal: what a property finds can be played again. Method: a counterexample made by hand becomes a ladder, which is
 * read and played.
 */
import { describe, expect, it } from 'vitest';
import { pattern, sendOnly, writeOnly } from '../../../../packets/kit/packet.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { counterexampleLadder, profileOf, sparing } from '../../../../tools/conformance/properties/command.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { parseScript } from '../../../../tools/conformance/script/parse.ts';
import { scriptCase } from '../../../../tools/conformance/script/play.ts';

const region = { va: 0x7f00_0000n, rkey: 0x1234, length: 2048 };
const counterexample = {
  ruleId: 'RSP-PSN-04',
  difference: 'a NAK was expected',
  packets: [
    sendOnly({ psn: 1, payload: pattern(8), ackReq: true }),
    writeOnly({
      psn: 0,
      payload: pattern(4),
      ackReq: true,
      reth: { va: region.va + 16n, rkey: region.rkey, length: 4 },
    }),
  ],
  lines: ['tx SEND Only psn+1', 'rx ACK psn+1', '# time passed'],
  path: '3:1',
  plan: '{}',
};

describe('a counterexample', () => {
  it('is a ladder whose addresses go by name, with what was seen beside it', () => {
    const text = counterexampleLadder('responder-sequences', 7, {
      ...counterexample,
      connection: { options: { mtu: 512, receives: 3 }, region },
    });
    expect(text).toBe(`# responder-sequences, seed 7, path 3:1
# RSP-PSN-04: a NAK was expected
# 
# tx SEND Only psn+1
# rx ACK psn+1
# # time passed
connect rc mtu 512 receives 3
tx send-only psn 1 ackreq payload 8
tx write-only psn 0 ackreq va region+16 rkey region length 4 payload 4
`);
  });

  it('can be played against another device', async () => {
    const text = counterexampleLadder('responder-sequences', 7, {
      ...counterexample,
      connection: { options: { mtu: 512, receives: 3 }, region },
    });
    const dut = new InProcessDut({ seed: 1 });
    const run = await runCase(dut, scriptCase('it', parseScript(`${text}rx nak 0x60 psn 0\nacked 0`)), { seed: 1 });
    await dut.close();
    expect(`${run.verdict} ${run.reason}`.trim()).toBe('pass');
  });
});

describe('the profile of a device', () => {
  it('is that of its kernel, and the strict one of every other', () => {
    expect(profileOf({ device: 'rxe', version: '6.1' }).name).toBe('rxe-6.1');
    expect(profileOf({ device: 'rocev2', version: '' }).name).toBe('strict');
    expect(profileOf({ device: 'mlx5_core', version: '28.39' }).name).toBe('strict');
  });

  it('leaves out what a device may not survive that may not be crashed', () => {
    expect(sparing(PROFILES.strict, { throwAway: true })).toBe(PROFILES.strict);
    expect(sparing(PROFILES.strict, { throwAway: false })).toEqual({ ...PROFILES.strict, fragile: true });
    expect(sparing(PROFILES['rxe-6.12'], { throwAway: false })).toBe(PROFILES['rxe-6.12']);
  });
});
