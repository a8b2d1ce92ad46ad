/**
 * Goal: every program of perf runs against itself, either way of introduction, with the options that change what
 * happens. Method: two devices in a simulated world in virtual time; what was printed is read, and what travelled is
 * counted. Against the stock programs: the interop matrix.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../src/index.ts';
import type { PerfChoices, PerfTest, PerfVerb } from '../../../tools/perf/options.ts';
import { makePerfPair, playPair, SERVER_V6 } from './support.ts';

const VERBS: readonly PerfVerb[] = ['write', 'read', 'send', 'atomic'];
const TESTS: readonly PerfTest[] = ['bw', 'lat'];

/** The numbers of the table, first line. */
function tableOf(lines: readonly string[]): number[] {
  const header = lines.findIndex((line) => line.startsWith(' #bytes'));
  return (lines[header + 1] ?? '').trim().split(/\s+/).map(Number);
}

describe.each(VERBS)('perf %s', (verb) => {
  const bytes = verb === 'atomic' ? 8 : 3000;
  const size = verb === 'atomic' ? {} : { size: bytes };

  it.each(TESTS)('%s introduces itself over TCP and tells the same table on both sides', async (test) => {
    const played = await playPair(makePerfPair(), { verb, test, iterations: 30, ...size });
    expect([played.server.code, played.client.code]).toEqual([0, 0]);
    const [size_, count, ...values] = tableOf(played.client.lines);
    expect([size_, count]).toEqual([bytes, 30]);
    // Every round trip takes the same virtual time: the deviation is 0, and nothing else.
    expect(values.filter((value) => value > 0)).toHaveLength(test === 'bw' ? 3 : 6);
    if (test === 'bw' && verb !== 'send') expect(tableOf(played.server.lines)).toEqual(tableOf(played.client.lines));
  });

  it.each(TESTS)('%s connects by the connection manager', async (test) => {
    const pair = makePerfPair();
    const played = await playPair(pair, { verb, test, iterations: 30, cm: true, ...size });
    expect([played.server.code, played.client.code]).toEqual([0, 0]);
    expect(tableOf(played.client.lines).slice(0, 2)).toEqual([bytes, 30]);
    expect(played.client.lines).toContain(' rdma_cm QPs\t : ON');
    expect(pair.server.tcp?.size).toBe(0);
    expect(pair.server.qpCount + pair.client.qpCount).toBe(0);
  });

  it('bw goes both ways at a time on several queue pairs', async () => {
    const choices = { verb, test: 'bw', iterations: 20, queuePairs: 3, bidirectional: true, ...size } as const;
    const played = await playPair(makePerfPair(), choices);
    expect(tableOf(played.client.lines).slice(0, 2)).toEqual([bytes, 60]);
    expect(tableOf(played.server.lines)).toEqual(tableOf(played.client.lines));
  });
});

describe('services without acknowledgement', () => {
  const services: readonly (readonly [string, Omit<PerfChoices, 'server'>])[] = [
    ['UC SEND bw', { verb: 'send', test: 'bw', service: 'UC', size: 9000 }],
    ['UC SEND bw both ways', { verb: 'send', test: 'bw', service: 'UC', bidirectional: true, queuePairs: 2 }],
    ['UC SEND lat', { verb: 'send', test: 'lat', service: 'UC' }],
    ['UC WRITE bw', { verb: 'write', test: 'bw', service: 'UC', size: 9000 }],
    ['UC WRITE lat', { verb: 'write', test: 'lat', service: 'UC' }],
    ['UD SEND bw', { verb: 'send', test: 'bw', service: 'UD', queuePairs: 2 }],
    ['UD SEND bw both ways', { verb: 'send', test: 'bw', service: 'UD', bidirectional: true }],
    ['UD SEND lat', { verb: 'send', test: 'lat', service: 'UD' }],
    ['UD SEND bw by the connection manager', { verb: 'send', test: 'bw', service: 'UD', cm: true, queuePairs: 2 }],
    ['UD SEND lat by the connection manager', { verb: 'send', test: 'lat', service: 'UD', cm: true }],
    [
      'UD both ways by the connection manager',
      { verb: 'send', test: 'bw', service: 'UD', cm: true, bidirectional: true },
    ],
  ];

  it.each(services)('%s', async (_, choices) => {
    const pair = makePerfPair();
    const played = await playPair(pair, { iterations: 30, ...choices });
    expect([played.server.code, played.client.code]).toEqual([0, 0]);
    expect(tableOf(played.server.lines).slice(0, 2)).toEqual(tableOf(played.client.lines).slice(0, 2));
    expect(tableOf(played.client.lines)[1]).toBe(30 * (choices.queuePairs ?? 1));
    expect(pair.server.qpCount + pair.client.qpCount).toBe(0);
  });

  it('all sizes of UD end with the MTU', async () => {
    const choices = { verb: 'send', test: 'bw', service: 'UD', iterations: 5, all: true, mtu: 1024 } as const;
    const { client, server } = await playPair(makePerfPair(), choices);
    for (const { lines } of [client, server])
      expect(lines.filter((line) => /^ \d/.test(line)).map((line) => Number.parseInt(line, 10))).toEqual([
        2, 4, 8, 16, 32, 64, 128, 256, 512, 1024,
      ]);
  });

  it('a longer message than the MTU is cut to it', async () => {
    const { client } = await playPair(makePerfPair(), { verb: 'send', test: 'bw', service: 'UD', iterations: 5 });
    expect(tableOf(client.lines)[0]).toBe(4096);
  });

  it.each(['UC', 'UD'] as const)('%s counts what arrived where the wire loses', async (service) => {
    const pair = makePerfPair();
    pair.world.network.addRule({ match: ({ opcode }) => (opcode & 0x1f) === 0x04, nth: 7, action: 'drop' });
    const choices = { verb: 'send', test: 'bw', service, iterations: 50, size: 100 } as const;
    const played = await playPair(pair, choices);
    expect(tableOf(played.client.lines)[1]).toBe(50);
    expect(tableOf(played.server.lines)[1]).toBe(49);
  });

  it('a latency test that lost a message says so', async () => {
    const pair = makePerfPair();
    pair.world.network.addRule({ match: ({ opcode }) => opcode === 0x64, nth: 7, action: 'drop' });
    const choices = { verb: 'send', test: 'lat', service: 'UD', iterations: 50 } as const;
    await expect(playPair(pair, choices)).rejects.toThrow(/one was lost/);
  });
});

describe('a shared receive queue', () => {
  it.each(['RC', 'UC', 'UD'] as const)('serves several queue pairs of %s', async (service) => {
    const choices = { verb: 'send', test: 'bw', service, iterations: 30, queuePairs: 3, size: 500 } as const;
    const played = await playPair(makePerfPair(), choices, { ofServer: { useSrq: true, rxDepth: 16 } });
    expect(tableOf(played.client.lines)[1]).toBe(90);
    if (service === 'RC') expect(tableOf(played.server.lines)[1]).toBe(90);
    expect(played.server.lines.join()).toContain('Using SRQ      : ON');
  });
});

describe('what was agreed on', () => {
  it('carries exactly as many bytes as it says', async () => {
    const pair = makePerfPair();
    const before = pair.server.portCounters.rcvdPkts;
    await playPair(pair, { verb: 'write', test: 'bw', iterations: 10, size: 4096 });
    expect(pair.server.portCounters.rcvdPkts - before).toBe(10);
  });

  it('is the smaller MTU of both sides', async () => {
    const choices = { verb: 'write', test: 'bw', iterations: 5, size: 4096 } as const;
    const played = await playPair(makePerfPair(), choices, { ofServer: { mtu: 512 } });
    expect(played.client.lines).toContain(' Mtu             : 512[B]');
    expect(played.server.lines).toContain(' Mtu             : 512[B]');
  });

  it('is the IP version that they met on, or the address asked for', async () => {
    const choices = { verb: 'read', test: 'lat', iterations: 5 } as const;
    const six = await playPair(makePerfPair(), choices, { address: SERVER_V6 });
    expect(six.client.lines).toContain(' GID: 253:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01');
    const chosen = await playPair(makePerfPair(), { ...choices, gidIndex: 1 });
    expect(chosen.client.lines).toContain(' GID index       : 1');
    expect(chosen.client.lines).toContain(' GID: 253:00:00:00:00:00:00:00:00:00:00:00:00:00:00:02');
  });

  it('fails with a sentence where the address asked for is not there', async () => {
    const choices = { verb: 'write', test: 'bw', iterations: 5 } as const;
    await expect(playPair(makePerfPair(), { ...choices, gidIndex: 9 })).rejects.toThrow(/2 addresses/);
  });

  it('fails where nobody listens', async () => {
    const pair = makePerfPair();
    const { play } = await import('./support.ts');
    const address = IpAddress.parse('10.0.0.1');
    pair.server.tcp?.listen(1);
    const asking = play(pair.world, pair.client, { verb: 'write', test: 'bw', server: address });
    await expect(pair.world.run(asking)).rejects.toMatchObject({ code: 'ERR_ROCE_REJECTED' });
  });
});

describe('families of options', () => {
  const cases: readonly (readonly [string, Omit<PerfChoices, 'server'>, number])[] = [
    ['all sizes of SEND', { verb: 'send', test: 'bw', iterations: 5, all: true }, 23],
    ['all sizes of WRITE latency', { verb: 'write', test: 'lat', iterations: 5, all: true }, 23],
    ['all sizes both ways', { verb: 'write', test: 'bw', iterations: 5, all: true, bidirectional: true }, 23],
    ['inline messages', { verb: 'send', test: 'lat', iterations: 10, size: 40, inlineBytes: 64 }, 1],
    ['one completion for each message', { verb: 'write', test: 'bw', iterations: 50, cqModeration: 1, size: 64 }, 1],
    ['one completion for several', { verb: 'write', test: 'bw', iterations: 50, cqModeration: 7, size: 64 }, 1],
    ['a short send queue', { verb: 'read', test: 'bw', iterations: 50, txDepth: 2, size: 64 }, 1],
    ['few receives', { verb: 'send', test: 'bw', iterations: 50, rxDepth: 2, size: 64 }, 1],
    ['one READ at a time', { verb: 'read', test: 'bw', iterations: 20, outstandingReads: 1, size: 9000 }, 1],
    ['compare and swap', { verb: 'atomic', test: 'lat', iterations: 20, atomic: 'CMP_AND_SWAP' }, 1],
    ['introductions only by the connection manager', { verb: 'read', test: 'bw', iterations: 20, cmExchange: true }, 1],
    ['no peak', { verb: 'write', test: 'bw', iterations: 20, noPeak: true }, 1],
    ['gigabits', { verb: 'write', test: 'bw', iterations: 20, gigabits: true }, 1],
    ['one byte', { verb: 'write', test: 'lat', iterations: 600, size: 1 }, 1],
  ];

  it.each(cases)('%s', async (_, choices, lines) => {
    const played = await playPair(makePerfPair(), choices);
    expect([played.server.code, played.client.code]).toEqual([0, 0]);
    const start = played.client.lines.findIndex((line) => line.startsWith(' #bytes'));
    const table = played.client.lines.slice(start + 1).filter((line) => /^ \d/.test(line));
    expect(table).toHaveLength(lines);
  });

  it('a run by time ends by time', async () => {
    for (const verb of ['write', 'send'] as const) {
      const pair = makePerfPair({ delayNs: 100_000 });
      const played = await playPair(pair, { verb, test: 'bw', durationS: 1, size: 1000, txDepth: 4 });
      expect(played.client.code).toBe(0);
      expect(pair.world.now).toBeGreaterThan(1e9);
      expect(tableOf(played.client.lines)[1]).toBeGreaterThan(1000);
      expect(tableOf(played.client.lines)[2]).toBe(0);
    }
    const lat = await playPair(makePerfPair({ delayNs: 100_000 }), { verb: 'send', test: 'lat', durationS: 1 });
    expect(lat.client.lines).toContain(' #bytes        #iterations       t_avg[usec]    tps average');
  });

  it('one number and nothing else', async () => {
    const played = await playPair(makePerfPair(), { verb: 'read', test: 'lat', iterations: 20, output: 'latency' });
    expect(played.client.lines).toHaveLength(1);
    expect(Number(played.client.lines[0])).toBeGreaterThan(0);
  });

  it('single measurements, in order and sorted', async () => {
    const choices = { verb: 'read', test: 'lat', iterations: 20, unsorted: true, histogram: true } as const;
    const { client } = await playPair(makePerfPair(), choices);
    expect(client.lines.filter((line) => line === '#, usec')).toHaveLength(2);
    expect(client.lines.filter((line) => /^\d+, [\d.]+$/.test(line))).toHaveLength(19 + 17);
  });

  it('the report of both directions apart', async () => {
    const choices = { verb: 'write', test: 'bw', iterations: 20, bidirectional: true, reportBoth: true } as const;
    const { client } = await playPair(makePerfPair(), choices);
    expect(client.lines).toContain(' Local results: ');
    expect(client.lines).toContain(' Remote results: ');
  });
});

describe('a bad wire', () => {
  it.each(VERBS)('does not stop %s over RC', async (verb) => {
    const pair = makePerfPair({ loss: 0.02, reorder: 0.02, duplicate: 0.02 }, 5);
    const played = await playPair(pair, {
      verb,
      test: 'bw',
      iterations: 60,
      ...(verb === 'atomic' ? {} : { size: 9000 }),
    });
    expect(played.client.code).toBe(0);
  });
});
