/**
 * Goal: where nobody answers, the attempts of both ends are compared, and what is not the same is named once; what the
 * network says by ICMP is repeated. Method: attempts of two ends with known differences, one line for each case, and
 * similar captures in which that difference is no cause; ICMP errors cut, changed and made of noise.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { SYMPTOMS_C } from '../../../../pcap/analysis/detectors/list-c.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { crossedSends, type Traits } from '../../../../tools/symptoms/crossed.ts';
import { type IcmpSpec, icmpError, roceFrame, station, tcpFrame, withVlan } from '../../../../tools/symptoms/forge.ts';
import { aeth } from '../../../../tools/symptoms/headers.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import type { Stage } from '../../../../tools/symptoms/stage.ts';
import { alarmIds, analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

async function crossed(ofA: Traits, ofB: Traits, before?: (stage: Stage) => Promise<void>): Promise<Analysis> {
  const capture = await play({ vantages: ['A'] }, async (stage) => {
    await before?.(stage);
    await crossedSends(stage, ofA, ofB);
  });
  return analyze(capture);
}

/** A SEND and its ACK between the two hosts. */
function answered(ofA: Traits, ofB: Traits): (stage: Stage) => Promise<void> {
  const [a, b] = [station(1), station(2)];
  const ack = { opcode: Op.Acknowledge, destQpn: 0x61, psn: 5, headers: aeth(0x1f, 1) };
  return (stage) =>
    stage.forgeAll([
      roceFrame({ from: a, to: b, opcode: Op.SendOnly, destQpn: 0x62, psn: 5, ackReq: 1, ...ofA }),
      roceFrame({ from: b, to: a, ...ack, ...ofB }),
    ]);
}

describe('symptoms 21 and 22', () => {
  it('are the rows of the table', () => {
    expect(SYMPTOMS_C.map(({ row, id }) => [row, id])).toEqual([
      [21, 'vlan-mismatch'],
      [22, 'pkey-mismatch'],
    ]);
  });
});

describe('VLANs of both ends', () => {
  it.each([
    ['untagged and tagged', {}, { vlanTci: 20 }, ['untagged', '20']],
    ['two ids', { vlanTci: 20 }, { vlanTci: 30 }, ['20', '30']],
    ['ids with priorities', { vlanTci: 0x60_14 }, { vlanTci: 0x60_1e }, ['20', '30']],
  ])('differ: %s', async (_, ofA, ofB, vlans) => {
    const analysis = await crossed(ofA, ofB);
    expect(alarmIds(analysis)).toEqual(['vlan-mismatch']);
    const { severity, evidence, conversations, frames, frameCount } = findingOf(analysis, 'vlan-mismatch');
    expect([severity, evidence['vlans'], evidence['hosts']]).toEqual(['error', vlans, ['10.0.0.1', '10.0.0.2']]);
    expect([conversations, frames, frameCount]).toEqual([[1, 2], [1, 2, 3, 4, 5, 6, 7, 8], 8]);
  });

  it.each([
    ['one id with two priorities', { vlanTci: 20 }, { vlanTci: 0x60_14 }],
    ['a tag without id', {}, { vlanTci: 0x60_00 }],
  ])('do not differ: %s', async (_, ofA, ofB) => {
    expect(alarmIds(await crossed(ofA, ofB))).toEqual(['no-reply']);
  });

  it('are compared once for any number of connections', async () => {
    const analysis = await crossed({}, { vlanTci: 20 }, async (stage) => {
      await Promise.all(
        [1, 2].map((n) => crossedSends(stage, { destQpn: 0x70 + n }, { destQpn: 0x80 + n, vlanTci: 20 })),
      );
    });
    expect(findingOf(analysis, 'vlan-mismatch').conversations).toHaveLength(6);
    expect(alarmIds(analysis)).toEqual(['vlan-mismatch']);
  });

  it('are no cause where another connection is answered with the same tags', async () => {
    const analysis = await crossed({}, { vlanTci: 20 }, answered({}, { vlanTci: 20 }));
    expect(alarmIds(analysis)).toEqual(['no-reply']);
  });

  it('are a cause though another connection is answered with equal tags', async () => {
    const analysis = await crossed({}, { vlanTci: 20 }, answered({}, {}));
    expect(alarmIds(analysis)).toEqual(['vlan-mismatch']);
  });

  it('are no cause where TCP shows the same tags in both directions, and one where a SYN alone does', async () => {
    const [a, b] = [station(1), station(2)];
    const syn = tcpFrame(a, b, 40_000, 80, 0x02);
    const synAck = withVlan(tcpFrame(b, a, 80, 40_000, 0x12), 20);
    const both = [syn, synAck, tcpFrame(a, b, 40_000, 80)];
    const after = (frames: Uint8Array[]) => crossed({}, { vlanTci: 20 }, (stage) => stage.forgeAll(frames));
    expect(alarmIds(await after(both))).toEqual(['no-reply']);
    expect(alarmIds(await after([syn]))).toEqual(['vlan-mismatch']);
  });

  it('are none where a mirror shows each packet with a tag and without', async () => {
    const capture = await play({ vantages: ['A'] }, (stage) => crossedSends(stage, {}, {}));
    const doubled = packetsOf(capture)
      .flatMap((packet) => [
        packet,
        { ...packet, bytes: withVlan(packet.bytes, 20), originalLength: packet.originalLength + 4 },
      ])
      .map((packet, index) => ({ ...packet, number: index + 1 }));
    expect(alarmIds(analyze(doubled))).toEqual(['no-reply']);
  });
});

describe('P_Keys of both ends', () => {
  it.each([
    ['both limited', 0x7fff, 0x7fff, 'both limited'],
    ['two partitions', 0x8001, 0x8002, 'partitions'],
    ['two partitions, one of them limited', 0xffff, 0x0001, 'partitions'],
  ])('do not match: %s', async (_, one, other, cause) => {
    const analysis = await crossed({ pkey: one }, { pkey: other });
    expect(alarmIds(analysis)).toEqual(['pkey-mismatch']);
    expect(findingOf(analysis, 'pkey-mismatch')).toMatchObject({
      severity: 'error',
      conversations: [1, 2],
      frameCount: 8,
    });
    expect(findingOf(analysis, 'pkey-mismatch').evidence).toMatchObject({ cause, hosts: ['10.0.0.1', '10.0.0.2'] });
  });

  it.each([
    ['full and limited', 0xffff, 0x7fff],
    ['limited and full', 0x0003, 0x8003],
    ['the default one', 0xffff, 0xffff],
  ])('match: %s', async (_, one, other) => {
    expect(alarmIds(await crossed({ pkey: one }, { pkey: other }))).toEqual(['no-reply']);
  });

  it('match in two partitions between the same hosts', async () => {
    expect(alarmIds(analyze(await sceneNamed('pkey-mismatch-two-partitions').make()))).toEqual(['no-reply']);
  });

  it('and VLANs may both be wrong', async () => {
    const analysis = await crossed({ pkey: 0x7fff }, { pkey: 0x7fff, vlanTci: 20 });
    expect(alarmIds(analysis)).toEqual(['pkey-mismatch', 'vlan-mismatch']);
  });
});

describe('MigReq of both ends', () => {
  it('is mentioned where it differs and nobody answers', async () => {
    const differing = findingOf(await crossed({ migReq: 1 }, { migReq: 0 }), 'no-reply');
    expect(differing.text).toContain('The MigReq bit is 1 in packets of 10.0.0.1 and 0 in those of 10.0.0.2');
    expect(findingOf(await crossed({ migReq: 0 }, { migReq: 0 }), 'no-reply').text).not.toContain('MigReq');
  });

  it('is the finding where it changes on the way and nothing is answered from then on', async () => {
    const [a, b] = [station(1), station(2)];
    const send = { from: a, to: b, opcode: Op.SendOnly, destQpn: 0x22, ackReq: 1 } as const;
    const ack = { from: b, to: a, opcode: Op.Acknowledge, destQpn: 0x11, headers: aeth(0x1f, 1) };
    const capture = await play({ vantages: ['A'] }, async (stage) => {
      await stage.forgeAll([roceFrame({ ...send, psn: 1 }), roceFrame({ ...ack, psn: 1 })]);
      for (let ipId = 10; ipId < 14; ipId++) {
        stage.forge(roceFrame({ ...send, psn: 2, ipId, migReq: 0 }));
        await stage.sleep(4_194_304);
      }
      await stage.goOn(20e6);
    });
    const analysis = analyze(capture);
    expect(findingOf(analysis, 'migreq-flip').text).toContain('changed to 0 in frame 3.');
    expect(analysis.findings.map(({ id }) => id)).toEqual(['migreq-flip']);
  });
});

describe('ICMP about RoCE packets', () => {
  const about = roceFrame({ from: station(1), to: station(2), opcode: Op.SendOnly, destQpn: 0x22, psn: 1, ackReq: 1 });
  const about6 = roceFrame({ from: station(1, 6), to: station(2, 6), opcode: Op.SendOnly, destQpn: 0x22, psn: 1 });
  const spec4 = { from: station(254), to: station(1), about };
  const spec6 = { from: station(254, 6), to: station(1, 6), about: about6 };

  async function saidOf(spec: IcmpSpec): Promise<unknown> {
    const capture = await play({}, (stage) => stage.forgeAll([icmpError(spec)]));
    const { findings } = analyze(capture);
    return findings[0]?.evidence['icmp'];
  }

  it.each([
    [3, 0, 'network unreachable'],
    [3, 1, 'host unreachable'],
    [3, 3, 'port unreachable'],
    [3, 13, 'administratively prohibited'],
    [3, 15, 'unreachable, code 15'],
    [11, 0, 'hop limit exceeded'],
  ])('version 4, type %i, code %i is: %s', async (type, code, says) => {
    expect(await saidOf({ ...spec4, type, code })).toEqual([says]);
  });

  it.each([
    [1, 0, 'no route'],
    [1, 1, 'administratively prohibited'],
    [1, 3, 'address unreachable'],
    [1, 4, 'port unreachable'],
    [3, 0, 'hop limit exceeded'],
  ])('version 6, type %i, code %i is: %s', async (type, code, says) => {
    expect(await saidOf({ ...spec6, type, code })).toEqual([says]);
  });

  it.each([
    ['an echo', { ...spec4, type: 8, code: 0 }],
    ['a version 6 type in version 4', { ...spec4, type: 1, code: 4 }],
    ['a quotation of another version', { ...spec4, about: about6, type: 3, code: 3 }],
    ['a quotation without ports', { ...spec4, type: 3, code: 3, quotedBytes: 22 }],
  ])('is none: %s', async (_, spec) => {
    expect(await saidOf(spec)).toBeUndefined();
  });

  it('names who says it, how often and about which queue pair, with advice that fits', async () => {
    const analysis = analyze(await sceneNamed('no-reply-port-unreachable').make());
    const { text, evidence, advice, frameCount } = findingOf(analysis, 'no-reply');
    expect(text).toContain(
      '10.0.0.2 says by ICMP: port unreachable (4 times, first of a packet to queue pair 0x000022).',
    );
    expect(evidence).toMatchObject({ icmp: ['port unreachable'], icmpFrom: ['10.0.0.2'], icmpMessages: 4, tries: 4 });
    expect(advice[0]).toContain('Nothing takes RoCE v2 at 10.0.0.2');
    expect(frameCount).toBe(8);
  });

  it('is part of a finding about a connection that worked before', async () => {
    const capture = await play({ vantages: ['A'] }, async (stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { retryCnt: 3 });
      b.receive();
      await a.send(100);
      stage.unplug(b.host);
      const gone = a.send(100);
      await stage.sleep(2e6);
      stage.forge(icmpError({ ...spec4, type: 3, code: 1 }));
      await gone;
      await stage.goOn(20e6);
    });
    const { text, evidence } = findingOf(analyze(capture), 'retry-exceeded');
    expect(text).toContain('10.0.0.254 says by ICMP: host unreachable (once');
    expect(evidence).toMatchObject({ icmp: ['host unreachable'], icmpMessages: 1 });
  });

  it('is read though the capture has cut it, and not where the ports are cut off', async () => {
    const capture = await play({}, (stage) => stage.forgeAll([icmpError({ ...spec4, type: 3, code: 3 })]));
    const [packet] = packetsOf(capture);
    if (packet === undefined) throw new Error('one packet was forged');
    const idsAt = (length: number) => alarmIds(analyze([{ ...packet, bytes: packet.bytes.subarray(0, length) }]));
    expect([idsAt(66), idsAt(65), idsAt(62), idsAt(40), idsAt(20)]).toEqual([['no-reply'], [], [], [], []]);
  });

  it('never throws, whatever a message quotes', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.constantFrom(1, 2, 3, 11),
        fc.nat(20),
        fc.uint8Array({ maxLength: 40 }),
        fc.nat(60),
        fc.nat(200),
        (six, type, code, noise, at, length) => {
          const base = six ? spec6 : spec4;
          const quoted = base.about.slice();
          quoted.set(noise.subarray(0, Math.max(0, quoted.length - 14 - at)), Math.min(quoted.length, 14 + at));
          const bytes = icmpError({ ...base, about: quoted, type, code });
          const [packet] = [{ ...TEMPLATE, bytes: bytes.subarray(0, length), originalLength: bytes.length }];
          expect(() => analyze([packet])).not.toThrow();
        },
      ),
    );
  });
});

const TEMPLATE = {
  number: 1,
  seconds: 1,
  nanoseconds: 0,
  linkType: 1,
  interfaceIndex: 0,
  direction: 0,
  comments: [],
} as const;
