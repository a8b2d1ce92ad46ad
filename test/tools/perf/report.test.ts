/**
 * Goal: what is printed is what perftest prints, column by column, and decided as perftest decides.
 * Method: lines of the stock program (4.5+0.17 in a guest) beside ours for the same numbers.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../src/index.ts';
import { decide, type PerfChoices, type PerfOptions, sizesOf } from '../../../tools/perf/options.ts';
import { bwLine, columnsOf, destLines, headingOf, latencyLines } from '../../../tools/perf/report.ts';

function optionsOf(choices: Partial<PerfChoices> = {}): PerfOptions {
  const options = decide({ verb: 'write', test: 'bw', ...choices });
  if (typeof options === 'string') throw new Error(options);
  return options;
}

const SERVER = IpAddress.parse('10.77.0.2');

describe('the table', () => {
  it('of bandwidth', () => {
    const report = { size: 4096, iterations: 20, peak: 7.1, average: 4.2, messageRate: 0.001_075 };
    expect(bwLine(optionsOf(), report)).toBe(' 4096       20               7.10               4.20   \t\t   0.001075');
  });

  it('of bandwidth in gigabits, with more digits where it was slow', () => {
    const report = { size: 4096, iterations: 40, peak: 0.168_082, average: 0.156_752, messageRate: 0.004_784 };
    const slow = { ...report, average: 0.078 };
    expect(bwLine(optionsOf({ gigabits: true }), report, slow)).toBe(
      ' 4096       40           0.168082            0.156752            0.004784',
    );
    expect(columnsOf(optionsOf({ gigabits: true }))).toContain('BW peak[Gb/sec]');
  });

  it('of latency: half of a round trip, without the two longest', () => {
    const options = optionsOf({ verb: 'send', test: 'lat', iterations: 6 });
    // Round trips of 10, 20, 30, 40 and 50 us.
    const [line] = latencyLines(options, 2, [0, 10_000, 30_000, 60_000, 100_000, 150_000]);
    expect(line).toBe(
      ' 2       6          5.00           20.00        10.00    \t       10.00       \t4.08   \t\t20.00   \t\t20.00  ',
    );
    expect(columnsOf(options)).toBe(
      ' #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ',
    );
  });

  it('of latency of a READ: a whole one', () => {
    const options = optionsOf({ verb: 'read', test: 'lat', iterations: 5, output: 'latency' });
    expect(latencyLines(options, 2, [0, 10_000, 20_000, 30_000, 40_000])).toEqual(['10.000000']);
  });
});

describe('the heading', () => {
  it('is that of the stock program', () => {
    const options = optionsOf({ server: SERVER, iterations: 20, size: 4096 });
    expect(headingOf(options, 'rxe0', 1024, 1)).toEqual([
      '---------------------------------------------------------------------------------------',
      '                    RDMA_Write BW Test',
      ' Dual-port       : OFF\t\tDevice         : rxe0',
      ' Number of qps   : 1\t\tTransport type : IB',
      ' Connection type : RC\t\tUsing SRQ      : OFF',
      ' PCIe relax order: ON',
      ' ibv_wr* API     : OFF',
      ' TX depth        : 20',
      ' CQ Moderation   : 20',
      ' Mtu             : 1024[B]',
      ' Link type       : Ethernet',
      ' GID index       : 1',
      ' Max inline data : 0[B]',
      ' rdma_cm QPs\t : OFF',
      ' Data ex. method : Ethernet',
      '---------------------------------------------------------------------------------------',
    ]);
  });

  it('of a queue pair is that of the stock program', () => {
    const dest = { lid: 0, outReads: 0x80, qpn: 0x14, psn: 0xe5_60_ee, rkey: 0x5_62, vaddr: 0x56_3d_ae_b7_d0_00n };
    expect(destLines('local', { ...dest, gid: SERVER, srqn: 0, gidIndex: 1 }, optionsOf({ verb: 'read' }))).toEqual([
      ' local address: LID 0000 QPN 0x0014 PSN 0xe560ee OUT 0x80 RKey 0x000562 VAddr 0x00563daeb7d000',
      ' GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:77:00:02',
    ]);
  });
});

describe('what is decided', () => {
  it('follows perftest where nothing was said', () => {
    expect(optionsOf()).toMatchObject({ size: 65_536, iterations: 5000, txDepth: 128, cqModeration: 1, port: 18_515 });
    expect(optionsOf({ size: 4096 })).toMatchObject({ cqModeration: 100 });
    expect(optionsOf({ verb: 'send', test: 'lat' })).toMatchObject({
      size: 2,
      iterations: 1000,
      txDepth: 1,
      rxDepth: 512,
    });
    expect(optionsOf({ verb: 'send', iterations: 21 })).toMatchObject({ rxDepth: 22, txDepth: 21 });
    expect(optionsOf({ verb: 'send', service: 'UD' })).toMatchObject({ rxDepth: 1000 });
    expect(optionsOf({ durationS: 3 })).toMatchObject({ iterations: 0, noPeak: true });
    expect(optionsOf({ cm: true })).toMatchObject({ cmExchange: true });
    expect(sizesOf(optionsOf({ all: true }), Infinity)).toHaveLength(23);
  });

  it.each<[string, Partial<PerfChoices>]>([
    ['UD carries SEND only', { service: 'UD' }],
    ['UC carries neither', { service: 'UC', verb: 'read' }],
    ['rdma_cm does not connect UC', { service: 'UC', cm: true }],
    ['several queue pairs', { test: 'lat', queuePairs: 2 }],
    ['bidirectional', { test: 'lat', bidirectional: true }],
    ['8 bytes', { verb: 'atomic', size: 64 }],
    ['one size', { durationS: 3, all: true }],
    ['does not sleep', { durationS: 3, events: true }],
    ['is for SEND', { useSrq: true }],
  ])('refuses what makes no sense: %s', (words, choices) => {
    expect(decide({ verb: 'write', test: 'bw', ...choices })).toContain(words);
  });
});
