/**
 * Goal: few source ports, PFC watchdogs, storms of CNPs and changed MigReq bits are told of with the figures of the case,
 * and their thresholds are where the files say. Method: the scenes that show them; and for each condition a capture
 * just inside and one just outside, of frames made by hand, through the whole analysis.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { SYMPTOMS_E } from '../../../../pcap/analysis/detectors/list-e.ts';
import type { Analysis, Finding } from '../../../../pcap/analysis/types.ts';
import { Direction } from '../../../../pcap/index.ts';
import { cnpFrame } from '../../../../tools/symptoms/ecn-misconfigured.ts';
import { pfcFrame, type RoceSpec, roceFrame, type Station, station } from '../../../../tools/symptoms/forge.ts';
import { aeth } from '../../../../tools/symptoms/headers.ts';
import { SCENES_E } from '../../../../tools/symptoms/list-e.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import type { Stage, StageOptions } from '../../../../tools/symptoms/stage.ts';
import { alarmIds, analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

const [A, B] = [station(1), station(2)];
const QPN = { a: 0xaa, b: 0xbb };
const SEQUENCE_NAK = 0x60;

function send(psn: number, more: Partial<RoceSpec> = {}): Uint8Array {
  const payload = new Uint8Array(64).fill(psn);
  const common = { from: A, to: B, opcode: Op.SendOnly, destQpn: QPN.b, ackReq: 1, ipId: psn & 0xffff } as const;
  return roceFrame({ ...common, psn, payload, ...more });
}

function ack(psn: number, more: Partial<RoceSpec> = {}, syndrome = 0x1f): Uint8Array {
  const common = { from: B, to: A, opcode: Op.Acknowledge, destQpn: QPN.a, ipId: psn & 0xffff } as const;
  return roceFrame({ ...common, psn, headers: aeth(syndrome, psn), ...more });
}

async function analyzed(script: (stage: Stage) => Promise<void>, options: StageOptions = {}): Promise<Analysis> {
  return analyze(await play(options, script));
}

async function found(
  id: string,
  script: (stage: Stage) => Promise<void>,
  options: StageOptions = {},
): Promise<readonly Finding[]> {
  return (await analyzed(script, options)).findings.filter((finding) => finding.id === id);
}

describe('the scenes', () => {
  const EXPECTED: Readonly<Record<string, Pick<Finding, 'severity' | 'evidence'> & { readonly says: string }>> = {
    'two-ports-sixteen-queue-pairs': {
      severity: 'warning',
      evidence: { queuePairs: 16, ports: 2, flows: 2, entropyBits: 1, chanceLog10: -54 },
      says: '16 queue pairs of 10.0.0.1 that send data to 10.0.0.2 use 2 UDP source ports (50000 for 8, 50001 for 8)',
    },
    'one-port-four-hosts': {
      severity: 'warning',
      evidence: { queuePairs: 16, peers: 4, ports: 1, flows: 4 },
      says: 'that send data to 4 hosts use the UDP source port 50000: to routers and link groups they are 4 flows',
    },
    'one-port-one-socket': {
      severity: 'warning',
      evidence: { host: 'fd00::1', queuePairs: 8, sourcePort: 4791, flowLabels: 1 },
      says: 'It costs bandwidth where there are several paths, and nothing where there is one.',
    },
    'migreq-flip-refused': {
      severity: 'error',
      evidence: { host: '10.0.0.1', migReq: 0, frame: 29, changes: 1, tries: 6 },
      says: 'changed to 0 in frame 29. From that packet on 10.0.0.2 answered nothing, and everything before',
    },
    'migreq-flip-answers-refused': {
      severity: 'warning',
      evidence: { host: '10.0.0.2', migReq: 0, frame: 32, tries: 5 },
      says: 'it drops the answers',
    },
    'migreq-flip-migration-refused': {
      severity: 'error',
      evidence: { host: '10.0.0.1', newAddress: '10.0.1.1', migReq: 1, tries: 6 },
      says: 'go to 10.0.1.2, with MigReq 1 and not 0. From that packet on 10.0.1.2 answered nothing',
    },
    'pfc-watchdog-flush': {
      severity: 'error',
      evidence: { host: '10.0.0.2', priority: 3, pausedNs: 300e6, connections: 2, lostPackets: 22 },
      says: 'paused class 3 for 300 ms without a break, and then 22 packets of this class to it did not arrive',
    },
    'pfc-watchdog-last-packets': {
      severity: 'error',
      evidence: { host: '', port: '02:00:00:00:00:fe', connections: 4, lostPackets: 20 },
      says: '4 connections, first seen 74 ms after its end',
    },
    'cnp-storm-more-than-packets': {
      severity: 'warning',
      evidence: { sign: 'packets', receiver: '10.0.0.2', cnps: 2400, packets: 340, marks: 0 },
      says: 'Under them 10.0.0.1 sent at 102 Mb/s, before at 7.6 Gb/s.',
    },
    'cnp-storm-without-marks': {
      severity: 'warning',
      evidence: { sign: 'marks', cnps: 300, packets: 340, marks: 0 },
      says: 'though none of the packets from there came in marked',
    },
    'cnp-storm-interval-zero': {
      severity: 'warning',
      evidence: { sign: 'rate', cnps: 784 },
      says: '256 of them 863 ns apart on average',
    },
  };

  it.each(SCENES_E.filter(({ triggers }) => triggers))('$name has its figures', async ({ name, symptom, make }) => {
    const expected = EXPECTED[name];
    const { severity, evidence, text } = findingOf(analyze(await make()), symptom);
    expect(severity).toBe(expected?.severity);
    expect(evidence).toMatchObject(expected?.evidence ?? {});
    expect(text).toContain(expected?.says);
  });

  it.each([
    ['one-port-flow-labels', 'port-polarisation', 'Their IPv6 flow labels differ'],
    ['migreq-flip-works', 'migreq-flip', 'Nothing that follows shows that this did harm.'],
    ['migreq-flip-migration', 'migreq-flip', 'The connection went on there.'],
  ])('%s has a note', async (name, id, says) => {
    const analysis = analyze(await sceneNamed(name).make());
    expect(findingOf(analysis, id)).toMatchObject({ severity: 'note' });
    expect(findingOf(analysis, id).text).toContain(says);
  });

  it('are about symptoms with one cause for each finding', async () => {
    expect(SYMPTOMS_E.map(({ id }) => id)).toEqual(['migreq-flip', 'pfc-watchdog', 'cnp-storm']);
    for (const { make, symptom } of SCENES_E.filter(({ triggers }) => triggers)) {
      const ids = analyze(await make()).findings.filter(({ severity }) => severity !== 'note');
      expect(ids.map(({ id }) => id)).toEqual([symptom]);
    }
  });
});

describe('source ports', () => {
  /** A message and its ACK on each of so many queue pairs. */
  const queuePairs =
    (count: number, portOf: (i: number) => number, peerOf: (i: number) => Station = () => B, from = A) =>
    async (stage: Stage) => {
      for (let i = 0; i < count; i++) {
        const [sourcePort, to] = [portOf(i), peerOf(i)];
        const back = { from: to, to: from, destQpn: 0x200 + i, psn: i * 1000 };
        await stage.forgeAll([
          send(i * 1000, { from, to, destQpn: 0x100 + i, sourcePort }),
          ack(i * 1000, { ...back, sourcePort: 0xc000 + i }),
        ]);
      }
    };
  const ports = (count: number) => (i: number) => 50_000 + (i % count);

  it.each([
    [8, 2],
    [12, 3],
    [32, 8],
  ])('are few where %i queue pairs have %i, and enough with one more', async (count, few) => {
    const [first, ...others] = await found('port-polarisation', queuePairs(count, ports(few)));
    expect(first).toMatchObject({ severity: 'warning', evidence: { queuePairs: count, ports: few } });
    expect(others).toEqual([]);
    expect(await found('port-polarisation', queuePairs(count, ports(few + 1)))).toEqual([]);
  });

  it('are counted for each peer where one has enough queue pairs, whatever the others have', async () => {
    const peerOf = (i: number) => station(i < 8 ? 2 : 3 + i);
    const analysis = await found(
      'port-polarisation',
      queuePairs(40, (i) => (i < 8 ? 50_000 : 51_000 + i), peerOf),
    );
    expect(analysis).toMatchObject([{ evidence: { queuePairs: 8, peers: 1, flows: 1 }, frameCount: 8 }]);
  });

  it('of a host that talks to itself take no path', async () => {
    expect(
      await found(
        'port-polarisation',
        queuePairs(8, ports(1), () => A),
      ),
    ).toEqual([]);
  });

  it('of one queue pair that is connected anew are those of one', async () => {
    const anew = async (stage: Stage) => {
      for (let i = 0; i < 10; i++) {
        const psn = (i * 1_600_000) & 0xff_ff_ff;
        await stage.forgeAll([send(psn), ack(psn)]);
      }
    };
    expect((await analyzed(anew)).conversations.length).toBeGreaterThan(7);
    expect(await found('port-polarisation', anew)).toEqual([]);
  });
});

describe('a PFC watchdog', () => {
  const CLASS_3 = { trafficClass: 104 } as const;
  interface Case {
    readonly pausedNs?: number;
    readonly lost?: number;
    readonly laterNs?: number;
    /** Whose packets are lost. */
    readonly back?: boolean;
  }
  /** A message passes; a pause of B; after it a NAK, and what was lost is sent again. */
  const flush =
    ({ pausedNs = 110e6, lost = 4, laterNs = 1e6, back = false }: Case) =>
    async (stage: Stage) => {
      const turned = back ? { from: B, to: A, destQpn: QPN.a } : {};
      const answered = back ? { from: A, to: B, destQpn: QPN.b } : {};
      const data = (psn: number, ipId: number) => send(psn, { ...CLASS_3, ipId, ...turned });
      await stage.forgeAll([data(0, 0), ack(0, { ...CLASS_3, ...answered })]);
      const end = stage.world.now + pausedNs;
      for (; stage.world.now < end; await stage.sleep(2e6)) stage.forge(pfcFrame(B.mac, { 3: 0xff_ff }));
      for (let psn = 1; psn <= lost; psn++) stage.forge(data(psn, psn));
      stage.forge(pfcFrame(B.mac, { 3: 0 }));
      await stage.sleep(laterNs);
      await stage.forgeAll([data(lost + 1, lost + 1), ack(1, { ...CLASS_3, ...answered }, SEQUENCE_NAK)]);
      for (let psn = 1; psn <= lost + 1; psn++) await stage.forgeAll([data(psn, 100 + psn)]);
      await stage.forgeAll([ack(lost + 1, { ...CLASS_3, ...answered })]);
      await stage.goOn(2e9);
    };

  it('needs a pause of 100 ms, and what is sent again is the loss', async () => {
    expect(await found('pfc-watchdog', flush({}))).toMatchObject([{ severity: 'error', evidence: { lostPackets: 5 } }]);
    expect(await found('pfc-watchdog', flush({ pausedNs: 90e6 }))).toEqual([]);
  });

  it('drops more than three packets', async () => {
    expect(await found('pfc-watchdog', flush({ lost: 3 }))).toMatchObject([{ evidence: { lostPackets: 4 } }]);
    expect(await found('pfc-watchdog', flush({ lost: 2 }))).toEqual([]);
  });

  it('drops them at once, not a second later', async () => {
    expect(await found('pfc-watchdog', flush({ laterNs: 400e6 }))).toHaveLength(1);
    expect(await found('pfc-watchdog', flush({ laterNs: 900e6 }))).toEqual([]);
  });

  it('drops what goes to the port that pauses, and not what comes from there', async () => {
    expect(await found('pfc-watchdog', flush({ back: true }))).toEqual([]);
  });

  it('takes the place of the storm on its port and class only', async () => {
    const both = async (stage: Stage) => {
      await flush({})(stage);
      for (let i = 0; i < 40; i++) await stage.forgeAll([pfcFrame(station(9).mac, { 3: 0xff_ff })], 3e6);
    };
    expect(await found('pfc-storm', flush({}))).toEqual([]);
    expect((await analyzed(both)).findings.map(({ id }) => id)).toContain('pfc-watchdog');
  });
});

describe('CNPs', () => {
  interface Case {
    readonly cnps: number;
    readonly data: number;
    readonly distanceNs?: number;
    readonly marked?: number;
  }
  const notified =
    ({ cnps, data, distanceNs = 10_000, marked = 0 }: Case, direction: Direction = Direction.Unknown) =>
    async (stage: Stage) => {
      for (let psn = 0; psn < data; psn++)
        await stage.forgeAll([send(psn, { trafficClass: psn < marked ? 3 : 2, ackReq: psn === data - 1 ? 1 : 0 })]);
      stage.forge(ack(data - 1));
      for (let i = 0; i < cnps; i++) {
        stage.forge(cnpFrame(QPN.a), undefined, direction);
        await stage.sleep(distanceNs);
      }
    };

  it('are too many from 64 on, twice as many as packets', async () => {
    expect(await found('cnp-storm', notified({ cnps: 64, data: 32 }))).toMatchObject([
      { evidence: { sign: 'packets' } },
    ]);
    expect(await found('cnp-storm', notified({ cnps: 63, data: 20 }))).toEqual([]);
    expect(await found('cnp-storm', notified({ cnps: 65, data: 33 }))).toEqual([]);
  });

  it('without marks are too many where they leave the interface, and prove nothing elsewhere', async () => {
    const few = { cnps: 80, data: 100, marked: 40 };
    const directions = { directions: true };
    expect(await found('cnp-storm', notified(few, Direction.Outbound), directions)).toMatchObject([
      { evidence: { sign: 'marks', marks: 40, cnpsPerMark: 2 } },
    ]);
    expect(await found('cnp-storm', notified({ ...few, marked: 41 }, Direction.Outbound), directions)).toEqual([]);
    expect(await found('cnp-storm', notified(few, Direction.Inbound), directions)).toEqual([]);
    expect(await found('cnp-storm', notified(few))).toEqual([]);
  });

  it('come too fast when 256 of them are 2 us apart', async () => {
    const fast = (cnps: number, distanceNs: number) => notified({ cnps, data: 400, distanceNs });
    expect(await found('cnp-storm', fast(257, 2_000))).toMatchObject([{ evidence: { sign: 'rate' } }]);
    expect(await found('cnp-storm', fast(256, 2_000))).toEqual([]);
    expect(await found('cnp-storm', fast(300, 2_100))).toEqual([]);
  });

  it('alone, without anything from the sender, prove nothing', async () => {
    expect(await found('cnp-storm', notified({ cnps: 100, data: 0 }))).toEqual([]);
  });

  it('change no MigReq bit: theirs is always 0', async () => {
    const { conversations } = await analyzed(notified({ cnps: 3, data: 10 }));
    expect(conversations[0]?.ends.map(({ migReq, migReqFrame }) => [migReq, migReqFrame])).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });
});

describe('a MigReq bit that changes', () => {
  const TIMEOUT_NS = 4_194_304;

  /** So many tries of the packet with the other bit, and the same again when all seems over. */
  const tried = (tries: number) => async (stage: Stage) => {
    await stage.forgeAll([send(0), ack(0)]);
    for (let i = 0; i < tries; i++) await stage.forgeAll([send(1, { migReq: 0, ipId: 10 + i })], TIMEOUT_NS);
    await stage.goOn(TIMEOUT_NS / 2);
  };

  it('is the cause of a silence from four tries on while it lasts', async () => {
    expect(await found('migreq-flip', tried(4))).toMatchObject([{ severity: 'warning', evidence: { tries: 4 } }]);
    expect(await found('migreq-flip', tried(3))).toMatchObject([{ severity: 'note' }]);
  });

  /** B answers each of so many tries with the other bit. */
  const answered = (tries: number, goesOn: boolean) => async (stage: Stage) => {
    await stage.forgeAll([send(0), ack(0)]);
    for (let i = 0; i < tries; i++) {
      await stage.forgeAll([send(1, { ipId: 10 + i }), ack(1, { migReq: 0, ipId: 10 + i })], 10_000);
      await stage.sleep(TIMEOUT_NS);
    }
    if (goesOn) await stage.forgeAll([send(2), ack(2, { migReq: 0 })]);
  };

  it('makes answers useless from three timeouts on, unless something new follows', async () => {
    expect(await found('migreq-flip', answered(4, false))).toMatchObject([
      { severity: 'warning', evidence: { host: '10.0.0.2', tries: 3 } },
    ]);
    expect(await found('migreq-flip', answered(3, false))).toMatchObject([{ severity: 'note' }]);
    expect(await found('migreq-flip', answered(6, true))).toMatchObject([{ severity: 'note' }]);
    expect(await found('migreq-flip', answered(8, false))).toMatchObject([{ severity: 'error' }]);
  });
});

it('CNPs at a bump in the wire, which has marks on its other side only, are no storm for want of marks', async () => {
  const packets = packetsOf(await sceneNamed('cnp-storm-without-marks').make());
  // The interface towards the receiver: what leaves there came in on the other one.
  const both = packets.flatMap((packet, index) => [
    { ...packet, number: 2 * index + 1 },
    {
      ...packet,
      number: 2 * index + 2,
      interfaceIndex: 1,
      direction: packet.direction === Direction.Inbound ? Direction.Outbound : Direction.Inbound,
    },
  ]);
  expect(alarmIds(analyze(packets))).toEqual(['cnp-storm']);
  expect(alarmIds(analyze(both))).toEqual([]);
});
