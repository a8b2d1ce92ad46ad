/**
 * Goal: the thresholds of symptoms 11 to 20 are where the files say, and each condition counts.
 * Method: for each a capture just inside and one just outside, most of frames made by hand; the whole analysis looks at
 * them.
 */
import { describe, expect, it } from 'vitest';
import { writeCnp } from '../../../../packets/cnp.ts';
import { Op } from '../../../../packets/opcode.ts';
import type { Finding } from '../../../../pcap/analysis/types.ts';
import { ConnectionRejected, WcStatus } from '../../../../src/index.ts';
import {
  icmpFragmentationNeeded,
  ipv4Fragments,
  pfcFrame,
  type RoceSpec,
  roceFrame,
  station,
} from '../../../../tools/symptoms/forge.ts';
import { aeth, reth } from '../../../../tools/symptoms/headers.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { demandStatus, type Stage, type StageOptions } from '../../../../tools/symptoms/stage.ts';
import { analyze } from './support.ts';

async function findings(
  id: string,
  script: (stage: Stage) => Promise<void>,
  options: StageOptions = {},
): Promise<readonly Finding[]> {
  return analyze(await play(options, script)).findings.filter((finding) => finding.id === id);
}

const [A, B] = [station(1), station(2)];
const QPN = { a: 0xaa, b: 0xbb };

function request(psn: number, length: number, more: Partial<RoceSpec> = {}): Uint8Array {
  const payload = new Uint8Array(length).fill(psn);
  return roceFrame({
    from: A,
    to: B,
    opcode: Op.SendOnly,
    destQpn: QPN.b,
    psn,
    ackReq: 1,
    ipId: psn & 0xffff,
    payload,
    ...more,
  });
}

function ack(psn: number, more: Partial<RoceSpec> = {}): Uint8Array {
  return roceFrame({
    from: B,
    to: A,
    opcode: Op.Acknowledge,
    destQpn: QPN.a,
    psn,
    headers: aeth(0x1f, psn),
    ipId: psn & 0xffff,
    ...more,
  });
}

function cnp(psn: number, trafficClass = 48 << 2): Uint8Array {
  const body = new Uint8Array(28);
  writeCnp(new DataView(body.buffer), 0, 0xffff, QPN.a, 1);
  const headers = body.subarray(12);
  return roceFrame({
    from: B,
    to: A,
    opcode: Op.Cnp,
    destQpn: QPN.a,
    psn: 0,
    becn: 1,
    trafficClass,
    headers,
    ipId: psn,
  });
}

describe('an MTU mismatch', () => {
  /** Short messages that are answered, then a long one that is not. */
  const blackHole = (answers: number, tries: number) => async (stage: Stage) => {
    for (let psn = 0; psn < answers; psn++) await stage.forgeAll([request(psn, 100), ack(psn)]);
    for (let i = 0; i < tries; i++) {
      await stage.forgeAll([request(answers, 3_000, { ipId: 500 + i })]);
      await stage.sleep(1e6);
    }
  };

  it('is a black hole from the third try and four answers on', async () => {
    expect(await findings('mtu-mismatch', blackHole(4, 3))).toMatchObject([
      { severity: 'error', evidence: { sent: 3, answers: 4 } },
    ]);
    expect(await findings('mtu-mismatch', blackHole(4, 2))).toEqual([]);
    expect(await findings('mtu-mismatch', blackHole(3, 3))).toEqual([]);
  });

  it('is none of packets that fit nearly everywhere', async () => {
    const silence = async (stage: Stage) => {
      for (let psn = 0; psn < 6; psn++) await stage.forgeAll([request(psn, 100), ack(psn)]);
      for (let i = 0; i < 4; i++) await stage.forgeAll([request(6, 1_400, { ipId: 500 + i })], 1e6);
    };
    expect(await findings('mtu-mismatch', silence)).toEqual([]);
  });

  /** FIRST and LAST of each direction, of these sizes. */
  const sizes = (ours: readonly number[], theirs: readonly number[]) => async (stage: Stage) => {
    const long = (from: 'a' | 'b', index: number, size: number) => {
      const ends = from === 'a' ? { from: A, to: B, destQpn: QPN.b } : { from: B, to: A, destQpn: QPN.a };
      const first = request(2 * index, size, { ...ends, opcode: Op.SendFirst, ackReq: 0 });
      const last = request(2 * index + 1, 17, { ...ends, opcode: Op.SendLast });
      const answer = ack(2 * index + 1, from === 'a' ? {} : { from: A, to: B, destQpn: QPN.b });
      return [first, last, answer];
    };
    for (const [index, size] of ours.entries()) await stage.forgeAll(long('a', index, size));
    for (const [index, size] of theirs.entries()) await stage.forgeAll(long('b', index, size));
  };

  it('of the ends needs two full packets of each, always of one size, and LAST packets do not count', async () => {
    expect(await findings('mtu-mismatch', sizes([1024, 1024], [512, 512]))).toMatchObject([
      { severity: 'warning', evidence: { sign: 'ends', pathMtus: [1024, 512], failing: 'no' }, frameCount: 4 },
    ]);
    expect(await findings('mtu-mismatch', sizes([1024, 1024], [512]))).toEqual([]);
    expect(await findings('mtu-mismatch', sizes([1024], [512, 512]))).toEqual([]);
    expect(await findings('mtu-mismatch', sizes([1024, 1024, 1024], [512, 1024, 512]))).toEqual([]);
    expect(await findings('mtu-mismatch', sizes([1024, 1024], [1024, 1024]))).toEqual([]);
  });

  it('is told once where a router says so and cuts as well', async () => {
    const both = async (stage: Stage) => {
      const long = request(1, 4_000);
      await stage.forgeAll([icmpFragmentationNeeded(station(254), long, 1_500, A), ...ipv4Fragments(long, 1_500)]);
    };
    expect(await findings('mtu-mismatch', both)).toMatchObject([{ evidence: { sign: 'icmp' } }]);
  });

  it('is read from ICMPv6 and from fragments of IPv6 too', async () => {
    const [a6, b6] = [station(1, 6), station(2, 6)];
    const long = roceFrame({
      from: a6,
      to: b6,
      opcode: Op.SendOnly,
      destQpn: 1,
      psn: 1,
      payload: new Uint8Array(3_000),
    });
    const v6 = (nextHeader: number, body: Uint8Array): Uint8Array => {
      const bytes = new Uint8Array(54 + body.length);
      bytes.set(long.subarray(0, 54));
      bytes.set(body, 54);
      const view = new DataView(bytes.buffer);
      view.setUint16(18, body.length);
      view.setUint8(20, nextHeader);
      return bytes;
    };
    const tooBig = v6(58, Uint8Array.of(2, 0, 0, 0, 0, 0, 0x05, 0xdc, ...long.subarray(14, 14 + 48)));
    const fragment = v6(44, Uint8Array.of(17, 0, 0, 1, 0, 0, 0, 9, ...long.subarray(54, 54 + 800)));
    const rest = v6(44, Uint8Array.of(17, 0, 0x03, 0x20, 0, 0, 0, 9, ...long.subarray(854, 1_200)));
    const notice = await findings('mtu-mismatch', (stage) => stage.forgeAll([tooBig]));
    expect(notice).toMatchObject([
      { evidence: { sign: 'icmp', source: 'fd00::1', destination: 'fd00::2', limitBytes: 1500 } },
    ]);
    const cut = await findings('mtu-mismatch', (stage) => stage.forgeAll([fragment, rest, fragment, rest]));
    expect(cut).toMatchObject([{ evidence: { sign: 'fragments', packets: 2, source: 'fd00::1' }, frames: [1, 3] }]);
  });
});

describe('a wrong ICRC', () => {
  const spoiled = (psn: number) => {
    const bytes = request(psn, 10 + 3 * psn);
    for (let i = 1; i <= 4; i++) bytes[bytes.length - i] = (psn * 91 + i * 57) & 0xff;
    return bytes;
  };

  it('that nothing explains is the sender from three packets on, and damage before', async () => {
    const three = await findings('icrc-invalid', (stage) => stage.forgeAll([1, 2, 3].map(spoiled)));
    expect(three).toMatchObject([{ severity: 'error', evidence: { badPackets: 3, explanation: 'none' } }]);
    const two = await findings('icrc-invalid', (stage) => stage.forgeAll([1, 2].map(spoiled)));
    expect(two).toMatchObject([
      { severity: 'warning', evidence: { badPackets: 2, explanation: 'damage', singleBitFlips: 0 } },
    ]);
    const among = await findings('icrc-invalid', (stage) => stage.forgeAll([...[1, 2, 3].map(spoiled), request(4, 9)]));
    expect(among).toMatchObject([{ severity: 'warning', evidence: { badPackets: 3, goodPackets: 1 } }]);
  });
});

describe('notifications without effect', () => {
  /** Data at one packet a microsecond, then CNPs every 50 us and data at `slower` times the distance. */
  const run =
    (cnps: number, slower: number, patience = 0) =>
    async (stage: Stage) => {
      let psn = 0;
      const data = () => request(psn++, 64, { trafficClass: 106, ackReq: 0 });
      for (let i = 0; i < 80; i++) await stage.forgeAll([data()], 1_000);
      for (let i = 0; i < cnps; i++) {
        stage.forge(cnp(i));
        const until = stage.world.now + 50_000;
        while (stage.world.now < until) await stage.forgeAll([data()], 1_000 * (i < patience ? 1 : slower));
      }
      stage.forge(ack(psn - 1));
    };

  it('are told of from 64 on, and not where the sender became slower', async () => {
    expect(await findings('ecn-misconfigured', run(66, 1))).toMatchObject([
      { severity: 'warning', evidence: { leg: 'reaction-point', cnps: 66, cnpsInARow: 66 } },
    ]);
    expect(await findings('ecn-misconfigured', run(60, 1))).toEqual([]);
    expect(await findings('ecn-misconfigured', run(66, 1.25))).toEqual([]);
    // As fast as before at first: 32 CNPs are given to take effect.
    expect(await findings('ecn-misconfigured', run(66, 2, 20))).toEqual([]);
  });
});

describe('a PFC storm', () => {
  const { mac } = station(7);
  const pauses =
    (count: number, everyNs: number, quanta: number, thenNs = 0) =>
    async (stage: Stage) => {
      for (let i = 0; i < count; i++) await stage.forgeAll([pfcFrame(mac, { 3: quanta })], everyNs);
      stage.forge(pfcFrame(mac, { 3: 0 }));
      await stage.goOn(thenNs);
    };

  it('needs twenty pauses that last, whoever ends them', async () => {
    expect(await findings('pfc-storm', pauses(40, 1e6, 0xffff))).toMatchObject([{ severity: 'warning' }]);
    expect(await findings('pfc-storm', pauses(19, 1e6, 0xffff))).toEqual([]);
    // 1,000 quanta are 5 us at 100 Gb/s.
    expect(await findings('pfc-storm', pauses(40, 1e6, 1_000))).toEqual([]);
  });

  it('is an error when one pause lasts 100 ms, however short that is in a long capture', async () => {
    expect(await findings('pfc-storm', pauses(400, 300_000, 0xffff, 2e9))).toMatchObject([
      { severity: 'error', evidence: { longestNs: 120e6, pauses: 400, resumes: 1 } },
    ]);
    expect(await findings('pfc-storm', pauses(200, 300_000, 0xffff, 2e9))).toEqual([]);
  });

  it('of all classes is one as well: global pauses', async () => {
    const global = pfcFrame(mac, { 0: 0xffff });
    new DataView(global.buffer).setUint16(14, 0x0001);
    new DataView(global.buffer).setUint16(16, 0xffff);
    const storm = async (stage: Stage) => {
      for (let i = 0; i < 100; i++) await stage.forgeAll([global], 200_000);
    };
    expect(await findings('pfc-storm', storm)).toMatchObject([
      { severity: 'error', evidence: { priority: 'all', pauses: 100 } },
    ]);
  });
});

describe('a class mismatch', () => {
  const exchange = (count: number, ours: number, theirs: number, vlanTci?: number) => async (stage: Stage) => {
    const tag = vlanTci === undefined ? {} : { vlanTci };
    for (let psn = 0; psn < count; psn++)
      await stage.forgeAll([
        request(psn, 64, { trafficClass: ours, ...tag }),
        ack(psn, { trafficClass: theirs, ...tag }),
      ]);
  };

  it('needs eight packets of each direction', async () => {
    expect(await findings('dscp-mismatch', exchange(8, 104, 0))).toMatchObject([{ severity: 'warning' }]);
    expect(await findings('dscp-mismatch', exchange(7, 104, 0))).toEqual([]);
  });

  it('is none where the tag has the priority of the DSCP, and a note where it has another', async () => {
    expect(await findings('dscp-mismatch', exchange(8, 104, 104, (3 << 13) | 5))).toEqual([]);
    expect(await findings('dscp-mismatch', exchange(8, 104, 104, (4 << 13) | 5))).toMatchObject([{ severity: 'note' }]);
  });

  it('is none of a connection without a class that loses nothing, beside others that have one', async () => {
    const both = async (stage: Stage) => {
      await exchange(8, 104, 104)(stage);
      for (let psn = 0; psn < 8; psn++)
        await stage.forgeAll([request(psn, 64, { destQpn: 0xcc }), ack(psn, { destQpn: 0xdd })]);
    };
    expect(await findings('dscp-mismatch', both)).toEqual([]);
  });
});

describe('a refused connection', () => {
  it('counts once however many interfaces see it', async () => {
    const refused = async (stage: Stage) => {
      const [a, b] = [stage.host('A'), stage.host('B')];
      const connecting = a.device.cm.connect({ address: '10.0.0.2', port: 99, qp: stage.end(a).qp });
      await expect(connecting).rejects.toBeInstanceOf(ConnectionRejected);
      expect(b.device.name).toBe('B');
    };
    expect(await findings('connection-refused', refused, { vantages: ['A', 'B'] })).toMatchObject([
      { severity: 'error', evidence: { refusals: 1 } },
    ]);
  });
});

describe('repetitions', () => {
  it('after a NAK are no sign of lost acknowledges', async () => {
    const reordered = async (stage: Stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12 });
      // Each third message's first packet is overtaken, which draws a NAK and repeats what arrives all the same.
      for (const nth of [2, 5, 8, 11])
        stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteFirst, nth, action: 'delay', delayNs: 900 });
      for (let i = 0; i < 12; i++) demandStatus(await a.write(b, 3_000), WcStatus.Success);
    };
    const found = await findings('duplicate-requests', reordered, { vantages: ['B'] });
    expect(found.filter(({ severity }) => severity !== 'note')).toEqual([]);
  });

  it('that answer a NAK are none even where a late packet made them needless', async () => {
    const overtaken = async (stage: Stage) => {
      for (let psn = 0; psn < 20; psn += 4) {
        const [first, late, last] = [0, 1, 2].map((i) => request(psn + i, 64, { ipId: psn + i }));
        const nak = ack(psn + 1, { headers: aeth(0x60, psn + 1) });
        await stage.forgeAll([first, ack(psn), last, nak, late, ack(psn + 2)].filter((frame) => frame !== undefined));
        await stage.sleep(300_000);
        await stage.forgeAll([1, 2].map((i) => request(psn + i, 64, { ipId: 100 + psn + i })));
        await stage.forgeAll([ack(psn + 2, { ipId: 200 + psn }), request(psn + 3, 64), ack(psn + 3)]);
      }
    };
    expect(await findings('duplicate-requests', overtaken)).toEqual([]);
  });
});

describe('a request for a connection', () => {
  it('that was sent twice counts when its sender gave up, and not when the capture merely ends', async () => {
    const unanswered = (retries: number, endNs: number) => async (stage: Stage) => {
      const [a, b] = [stage.host('A'), stage.host('B')];
      await a.device.resolve(B.address);
      stage.unplug(b);
      const connecting = a.device.cm
        .connect({ address: '10.0.0.2', port: 99, qp: stage.end(a).qp, cmResponseTimeout: 8, maxCmRetries: retries })
        .catch(() => undefined);
      await Promise.race([connecting, stage.sleep(endNs)]);
    };
    expect(await findings('connect-timeout', unanswered(1, 1e9))).toMatchObject([
      { severity: 'error', evidence: { requests: 2 } },
    ]);
    expect(await findings('connect-timeout', unanswered(9, 1.5e6))).toEqual([]);
  });
});

describe('READs', () => {
  it('of an application that takes its time between them wait for nobody', async () => {
    const thoughtful = async (stage: Stage) => {
      const depths = { maxRdAtomic: 2, maxDestRdAtomic: 2, timeout: 14 };
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true, ...depths });
      for (let i = 0; i < 20; i++) {
        const [first, second] = [a.read(b, 100), a.read(b, 100)];
        demandStatus(await first, WcStatus.Success);
        demandStatus(await second, WcStatus.Success);
        await stage.sleep(300_000);
      }
    };
    expect(await findings('read-stall', thoughtful, { latencyNs: 100_000 })).toEqual([]);
  });

  it('whose next request follows the answer soon wait for it, and those whose request takes longer do not', async () => {
    const reads = (thinkNs: number) => async (stage: Stage) => {
      const asking = (psn: number) =>
        request(psn, 0, { opcode: Op.ReadRequest, headers: reth(0x1000n, 7, 64), payload: new Uint8Array(0) });
      const answer = (psn: number) => ack(psn, { opcode: Op.ReadResponseOnly, payload: new Uint8Array(64).fill(psn) });
      stage.forge(ack(0, { from: A, to: B, destQpn: QPN.b }));
      await stage.forgeAll([asking(0), asking(1)]);
      for (let psn = 0; psn < 20; psn++) {
        await stage.sleep(200_000);
        await stage.forgeAll([answer(psn)], thinkNs);
        stage.forge(asking(psn + 2));
      }
    };
    expect(await findings('read-stall', reads(40_000))).toMatchObject([
      { severity: 'note', evidence: { outstanding: 2 } },
    ]);
    expect(await findings('read-stall', reads(60_000))).toEqual([]);
  });

  it('one after the other, without an agreement on more, are not spoken of', async () => {
    const single = (depth: number) => async (stage: Stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { maxRdAtomic: depth, timeout: 14 });
      const reads = Array.from({ length: 20 }, () => a.read(b, 100));
      for (const read of reads) demandStatus(await read, WcStatus.Success);
    };
    expect(await findings('read-stall', single(1), { latencyNs: 100_000 })).toEqual([]);
    expect(await findings('read-stall', single(2), { latencyNs: 100_000 })).toMatchObject([{ severity: 'note' }]);
  });
});

describe('a shared source port', () => {
  it('of half of the queue pairs leaves paths to choose from', async () => {
    const half = (own: number) => async (stage: Stage) => {
      for (let i = 0; i < 12 + own; i++) {
        const ports = i < 12 ? {} : { sourcePort: 0xd000 + i };
        await stage.forgeAll([
          request(1, 64, { destQpn: 0x100 + i, ...ports }),
          ack(1, { destQpn: 0x200 + i, ...ports }),
        ]);
      }
    };
    expect(await findings('port-polarisation', half(0))).toMatchObject([{ evidence: { queuePairs: 12, sharing: 12 } }]);
    expect(await findings('port-polarisation', half(12))).toEqual([]);
  });
});

describe('a WRITE of one packet by hand', () => {
  it('is what the helpers here take it for', async () => {
    const write = request(1, 8, { opcode: Op.WriteOnly, headers: reth(0n, 1, 8) });
    const analysis = analyze(await play({}, (stage) => stage.forgeAll([write, ack(1)])));
    expect(analysis.conversations).toMatchObject([{ ends: [{ qpn: QPN.a }, { qpn: QPN.b }] }]);
  });
});
