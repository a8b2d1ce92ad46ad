/**
 * Goal: a ladder in text says what it seems to say. Method: every step is printed and read again; scripts are played
 * against our own stack, one that holds and one that does not for each kind of step; lines that make no sense are
 * refused with their number.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../../../packets/address.ts';
import { onesComplementSum } from '../../../../packets/checksum.ts';
import { defined } from '../../../../packets/defined.ts';
import { Medium } from '../../../../packets/frame.ts';
import { buildFrame } from '../../../../packets/kit/build.ts';
import { pattern } from '../../../../packets/kit/packet.ts';
import { Op } from '../../../../packets/opcode.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { type CaseRun, runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { malformation } from '../../../../tools/conformance/script/malformed.ts';
import { isHazardous, parseScript } from '../../../../tools/conformance/script/parse.ts';
import { scriptCase } from '../../../../tools/conformance/script/play.ts';
import { printScript, symbolic } from '../../../../tools/conformance/script/print.ts';
import type { ScriptPacket, ScriptStep } from '../../../../tools/conformance/script/steps.ts';
import { nameOf, opcodeOf } from '../../../../tools/conformance/script/words.ts';

const stepsOf = (text: string): ScriptStep[] => parseScript(text).map(({ step }) => step);

async function played(text: string): Promise<CaseRun> {
  const dut = new InProcessDut({ seed: 7 });
  const run = await runCase(dut, scriptCase('a script', parseScript(text)), { seed: 7 });
  await dut.close();
  return run;
}

const number = (max: number) => fc.integer({ min: 0, max });
const key = fc.oneof(
  fc.record({ rkey: number(0xff_ff_ff_ff) }),
  fc.constant({ rkey: 0, own: true }),
  fc.constant({ rkey: 0, ofWindow: true }),
);
const place = fc.oneof(
  fc.record({ va: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }) }),
  fc.record({ va: fc.constant(0n), offset: fc.integer({ min: -4096, max: 9000 }) }),
);
const payload = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 15 })).map(([n, seed]) => pattern(n, seed)),
  fc.uint8Array({ minLength: 1, maxLength: 20 }),
);

const packet: fc.Arbitrary<ScriptPacket> = fc
  .record({
    opcode: fc.constantFrom(
      ...Object.values(Op).filter((op) => op < 0x20 && op !== Op.Acknowledge),
      0x15,
      0x24,
      0x26,
      0xff,
    ),
    psn: fc.integer({ min: -1000, max: 0xff_ff_ff }),
    extra: fc.record(
      {
        ackReq: fc.constant(true),
        solicited: fc.constant(true),
        imm: number(0xff_ff_ff_ff),
        pad: number(3),
        pkey: number(0xff_ff),
        tver: number(15),
        becn: fc.constant(1 as const),
        cut: number(40),
        udpLength: number(0xff_ff),
        ipOptions: number(10).map((n) => n * 4),
        badIcrc: fc.constant(true),
        rxeIcrc: fc.constant(true),
        source: fc.constant('192.0.2.77'),
        payload,
      },
      { requiredKeys: [] },
    ),
    key,
    place,
    length: number(0xff_ff_ff_ff),
    words: fc.tuple(number(0xff_ff), number(0xff_ff)),
  })
  .map(({ opcode, psn, extra, key: { rkey, ...own }, place: { va, ...offset }, length, words }) => {
    const names = {
      ...('offset' in offset ? { at: { offset: offset.offset } } : {}),
      ...('own' in own ? { ownKey: true } : {}),
      ...('ofWindow' in own ? { windowKey: true } : {}),
    };
    if (opcode === Op.CompareSwap || opcode === Op.FetchAdd)
      return {
        opcode,
        psn,
        ...extra,
        ...names,
        atomic: { va, rkey, swapAdd: BigInt(words[0]), compare: BigInt(words[1]) },
      };
    if (opcode === Op.WriteOnly || opcode === Op.ReadRequest)
      return { opcode, psn, ...extra, ...names, reth: { va, rkey, length } };
    return { opcode, psn, ...extra };
  });

/** Nothing below the BTH is looked at in what arrives. */
function asWanted({ cut, udpLength, ipOptions, badIcrc, rxeIcrc, ...rest }: ScriptPacket): ScriptPacket {
  return rest;
}

const duration = fc.integer({ min: 1, max: 1_000_000 }).map((n) => n * 1000);
const step: fc.Arbitrary<ScriptStep> = fc.oneof(
  packet.map((one): ScriptStep => ({ kind: 'tx', packet: one })),
  fc
    .tuple(fc.array(packet.map(asWanted), { minLength: 1, maxLength: 3 }), duration)
    .map(([wants, withinNs]): ScriptStep => ({ kind: 'rx', wants, withinNs })),
  fc.record({ kind: fc.constant('acked' as const), psn: number(0xff_ff_ff), msn: number(0xff_ff_ff) }),
  fc.record({ kind: fc.constant('sentinel' as const), psn: number(0xff_ff_ff), msn: number(0xff_ff_ff) }),
  fc.record({ kind: fc.constant('silence' as const), durationNs: duration }),
  fc.record({ kind: fc.constant('sleep' as const), durationNs: duration }),
  fc.record({ kind: fc.constant('dead' as const), psn: number(0xff_ff_ff) }),
  fc.record({ kind: fc.constant('received' as const), wrId: number(99), status: number(22) }),
  fc.record({ kind: fc.constant('buffer' as const), payload }),
  fc.constantFrom<ScriptStep>({ kind: 'window' }, { kind: 'window', bound: { offset: 512, length: 256 } }),
  fc.constant<ScriptStep>({ kind: 'tx', packet: { opcode: Op.SendOnlyInvalidate, psn: 0, inv: 0, windowKey: true } }),
  fc.constantFrom<ScriptStep>(
    { kind: 'connect', options: { type: 'rc' }, rights: ['flush'] },
    { kind: 'connect', options: { type: 'rc', mtu: 512 }, rights: ['flush', 'windows'] },
  ),
  fc.record({
    kind: fc.constant('connect' as const),
    options: fc.record({
      type: fc.constantFrom('rc' as const, 'uc' as const),
      mtu: fc.constant(512),
      receives: number(9),
    }),
  }),
);

describe('the text of a ladder', () => {
  it('reads what it has printed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        expect(stepsOf(printScript(steps, 'a title\nof two lines'))).toEqual(steps);
      }),
    );
  });

  it('has a name for every opcode, or its number', () => {
    for (let opcode = 0; opcode < 256; opcode++) expect(opcodeOf(nameOf(opcode))).toBe(opcode);
  });

  it('calls what lies in the region by name', () => {
    const region = { va: 0x1000n, rkey: 7, length: 64 };
    const write = { opcode: Op.WriteOnly, psn: 0, reth: { va: 0x1010n, rkey: 7, length: 4 } };
    const text = printScript([{ kind: 'tx', packet: symbolic(write, region) }]);
    expect(text).toBe('tx write-only psn 0 va region+16 rkey region length 4\n');
  });

  it.each([
    ['tx', 'a packet is missing'],
    ['tx bogus psn 0', "'bogus' is no packet"],
    ['tx send-only psn 99999999', "'99999999' is no whole number"],
    ['tx send-only color 3', "'color' is no field"],
    ['tx send-only payload x', 'a payload is'],
    ['silence 10', "'10' is no duration"],
    ['sentinel 3', "'msn' is expected"],
    ['dance', "'dance' is none of"],
    ['connect rc speed 3', "'speed' is none of"],
    ['state RTS now', "'now' was not expected"],
    ['rx ack cut 4', 'cut, udp-length, ip-options, bad-icrc and rxe-icrc are for packets that are sent'],
    ['window offset 4', "'length' is expected"],
    ['buffer x', 'a payload is'],
    ['received status 4', "'id' is expected"],
  ])('refuses %j', (text, why) => {
    expect(() => parseScript(`# fine\n\n${text}`)).toThrow(`line 3 of the script: ${why}`);
  });
});

describe('a ladder that is played', () => {
  it('passes when the device does all it says', async () => {
    const run = await played(`
      connect rc mtu 256
      tx send-only psn 1 payload 64 ackreq      # PSN 0 is missing
      rx nak 0x60 psn 0
      sentinel 0 msn 1
      tx write-only psn 1 va region+8 rkey region length 5 payload 5 ackreq
      acked 1 msn 2
      tx read-request psn 2 va region+8 rkey region length 5
      rx read-response-only psn 2 payload 5
      tx fetch-add psn 3 va region+16 rkey region swap 1 ackreq
      rx atomic-acknowledge psn 3 original 0
      silence 1ms
      post send id 9 length 3 at region
      rx send-only psn 0
      tx ack psn 0 msn 1
      completion id 9 status 0
      tx write-only psn 4 va region rkey 0xdead length 4 payload 4 ackreq
      rx nak 0x62 psn 4 or nak 0x61 psn 4
      dead 5
      state ERR`);
    expect(`${run.verdict} ${run.reason}`.trim()).toBe('pass');
  });

  it('passes with windows, FLUSH, receives, buffers, and frames that are malformed', async () => {
    const run = await played(`
      connect rc flush windows version 4
      window offset 512 length 256
      tx read-request psn 0 va region+512 rkey window length 256
      rx read-response-only psn 0
      tx flush psn 1 va region rkey region length 64 placement 1 selectivity 0
      rx read-response-only psn 1
      tx send-only psn 2 payload 40 ackreq
      acked 2
      received id 1 status 0
      buffer 40
      tx send-only psn 3 ackreq cut 0
      tx send-only psn 3 ackreq cut 11 ip-options 4
      tx send-only psn 3 payload 8 ackreq udp-length 8
      tx send-only psn 3 payload 8 ackreq bad-icrc
      sentinel 3 msn 4
      window
      tx send-only-invalidate psn 4 inv window ackreq
      state ERR`);
    expect(`${run.verdict} ${run.reason}`.trim()).toBe('pass');
  });

  it('has a right IPv4 header with options, of the length that it says', async () => {
    const { spoil } = malformation({ ipOptions: 8 });
    const route = {
      ...{ medium: Medium.Ethernet, sourceMac: parseMac('02:00:00:00:00:01'), destMac: parseMac('02:00:00:00:00:02') },
      ...{ source: IpAddress.parse('192.0.2.1'), destination: IpAddress.parse('192.0.2.2'), sourcePort: 50_000 },
      ...{ trafficClass: 0, hopLimit: 64, flowLabel: 0 },
    };
    const plain = buildFrame({ opcode: Op.SendOnly, psn: 0 }, route, 17, 0);
    const frame = buildFrame({ opcode: Op.SendOnly, psn: 0, ...defined({ spoil }) }, route, 17, 0);
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
    expect(frame.length).toBe(plain.length + 8);
    expect(view.getUint8(14)).toBe(0x47);
    expect(view.getUint16(16)).toBe(frame.length - 14);
    expect(onesComplementSum(view, 14, 14 + 28, 0)).toBe(0xff_ff);
    // The ICRC is over the identification, which counts up.
    expect(frame.slice(42, -4)).toEqual(plain.slice(34, -4));
  });

  it('knows a ladder that a device may not survive, and plays it where that is allowed', async () => {
    expect(isHazardous('# first\n# hazardous\ntx ack')).toBe(true);
    expect(isHazardous('# not that hazardous\n')).toBe(false);
    const dut = Object.assign(new InProcessDut({ seed: 7 }), { throwAway: false });
    const one = scriptCase('a script', parseScript('sentinel 0 msn 1'), { hazardous: true });
    const runs = [await runCase(dut, one, { seed: 7 }), await runCase(dut, one, { seed: 7, hazardous: true })];
    await dut.close();
    expect(runs.map(({ verdict }) => verdict)).toEqual(['not-run', 'pass']);
  });

  it.each([
    [
      'tx send-only psn 1 payload 4 ackreq\nrx nak 0x61 psn 0',
      'line 2: NAK 0x61 psn+0 was expected, and NAK 0x60 psn+0',
    ],
    ['tx send-only psn 0 payload 4 ackreq\nsilence', 'line 2: silence was expected, and ACK psn+0'],
    ['acked 0', 'line 1: ACK psn+0 was expected, and nothing came'],
    ['sentinel 1 msn 1', 'line 1: silence, and then'],
    ['dead 0', 'line 1: silence was expected, and ACK psn+0'],
    ['state ERR', 'line 1: the queue pair was to be in ERR, and is in RTS'],
    [
      'post send id 1 length 1 at region\nrx send-only\ntx nak 0x61 psn 0 msn 0\ncompletion id 1 status 0',
      'line 4: work request 1 completed with status 9',
    ],
    ['connect rc\nwindow\ntx send-only psn 0 ackreq payload 4\nbuffer 4/2', 'line 4: byte 0 of the buffer is'],
    [
      'tx send-only psn 0 ackreq\nreceived id 2 status 0',
      'line 2: work request 1 completed with status 0, and 2 was to',
    ],
  ])('fails %j', async (text, why) => {
    const run = await played(text);
    expect(run.verdict).toBe('fail');
    expect(run.reason).toContain(why);
  });
});
