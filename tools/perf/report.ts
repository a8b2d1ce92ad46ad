/**
 * What perftest prints: the heading of a test, the two sides, and the tables, column by column.
 *
 * Owns texts and columns. Never measures. Formats are those of perftest 4.5+0.17 (perftest_parameters.h,
 * ctx_print_test_info, print_report_lat), seen on its standard output.
 */
import { gidBytes, type PerfDest } from './dest.ts';
import type { BwReport } from './introductions.ts';
import type { PerfOptions } from './options.ts';

export const RESULT_LINE = '-'.repeat(87);

/** What a server prints while it waits. */
export const WAITING: readonly string[] = [
  '',
  '************************************',
  '* Waiting for client to connect... *',
  '************************************',
];

/** The heading of a test. */
export function headingOf(options: PerfOptions, device: string, mtu: number, gidIndex: number): string[] {
  const { verb, test, bidirectional, isServer, service } = options;
  const lines = [
    RESULT_LINE,
    `                    ${titleOf(options)}`,
    ...(options.events === true ? [` Test with events. Using ${device}_comp0`] : []),
    ` Dual-port       : OFF\t\tDevice         : ${device}`,
    ` Number of qps   : ${options.queuePairs}\t\tTransport type : IB`,
    ` Connection type : ${service}\t\tUsing SRQ      : ${options.useSrq === true ? 'ON' : 'OFF'}`,
    ' PCIe relax order: ON',
    ' ibv_wr* API     : OFF',
  ];
  if (!isServer || bidirectional) lines.push(` TX depth        : ${options.txDepth}`);
  if (verb === 'send' && (isServer || bidirectional)) lines.push(` RX depth        : ${options.rxDepth}`);
  if (test === 'bw') lines.push(` CQ Moderation   : ${options.cqModeration}`);
  lines.push(` Mtu             : ${mtu}[B]`, ' Link type       : Ethernet', ` GID index       : ${gidIndex}`);
  if (verb === 'read' || verb === 'atomic') lines.push(` Outstand reads  : ${options.outstandingReads}`);
  else lines.push(` Max inline data : ${options.inlineBytes}[B]`);
  lines.push(` rdma_cm QPs\t : ${options.cm ? 'ON' : 'OFF'}`);
  lines.push(` Data ex. method : ${options.cmExchange ? 'rdma_cm' : 'Ethernet'}`);
  if (options.cm && isServer) {
    lines.push(RESULT_LINE, ' Waiting for client rdma_cm QP to connect');
    lines.push(' Please run the same command with the IB/RoCE interface IP');
  }
  return [...lines, RESULT_LINE];
}

/** One queue pair of one side. */
export function destLines(side: 'local' | 'remote', dest: PerfDest, { verb }: PerfOptions): string[] {
  const { lid, qpn, psn, outReads, rkey, vaddr, gid } = dest;
  const reads = verb === 'read' ? ` OUT ${hash(outReads, 4)}` : '';
  const memory = verb === 'read' || verb === 'write' ? ` RKey ${hash(rkey, 8)} VAddr ${hash(vaddr, 16)}` : '';
  const bytes = [...gidBytes(gid)].map((byte) => String(byte).padStart(2, '0'));
  return [
    ` ${side} address: LID ${hash(lid, 4)} QPN ${hash(qpn, 6)} PSN ${hash(psn, 6)}${reads}${memory}`,
    ` GID: ${bytes.join(':')}`,
  ];
}

/** The names of the columns. */
export function columnsOf({ test, gigabits, iterations }: PerfOptions): string {
  if (test === 'bw') {
    const unit = gigabits === true ? 'Gb' : 'MB';
    return ` #bytes     #iterations    BW peak[${unit}/sec]    BW average[${unit}/sec]   MsgRate[Mpps]`;
  }
  if (iterations === 0) return ' #bytes        #iterations       t_avg[usec]    tps average';
  return (
    ' #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   ' +
    '99% percentile[usec]   99.9% percentile[usec] '
  );
}

/** A line of the table of a bandwidth test; more digits where `ours`, one direction of it, was slow. */
export function bwLine({ gigabits, output }: PerfOptions, report: BwReport, ours = report): string {
  const { size, iterations, peak, average, messageRate } = report;
  if (output === 'bandwidth') return average.toFixed(6);
  if (output === 'message_rate') return messageRate.toFixed(6);
  if (gigabits === true && ours.average < 0.1) {
    const [first, second, third] = [peak, average, messageRate].map((value) => value.toFixed(6));
    return ` ${pad(size, 7)}    ${iterations}           ${first}            ${second}            ${third}`;
  }
  const count = pad(iterations, 10);
  return ` ${pad(size, 7)}    ${count}       ${fixed(peak)}            ${fixed(average)}\t\t   ${messageRate.toFixed(6)}`;
}

/** Both directions of a bidirectional test together. */
export function sumOf(ours: BwReport, theirs: BwReport): BwReport {
  return {
    ...ours,
    peak: ours.peak + theirs.peak,
    average: ours.average + theirs.average,
    messageRate: ours.messageRate + theirs.messageRate,
  };
}

/** The lines of a latency test: what was asked for of single measurements, then the line of the table. */
export function latencyLines(options: PerfOptions, size: number, posted: readonly number[]): string[] {
  const { verb, iterations, unsorted, histogram, output } = options;
  // There and back counts as two.
  const perMeasurement = verb === 'read' || verb === 'atomic' ? 1000 : 2000;
  const inOrder = posted.slice(1).map((at, i) => (at - (posted[i] ?? 0)) / perMeasurement);
  if (iterations === 0) return [durationLine(size, inOrder, output)];
  const sorted = [...inOrder].sort((a, b) => a - b);
  const lines: string[] = [];
  if (unsorted === true) lines.push('#, usec', ...inOrder.map((value, i) => `${i + 1}, ${short(value)}`));
  const line = statisticsLine(size, iterations, sorted, output);
  if (histogram === true) {
    const counted = sorted.slice(0, sorted.length - TAIL);
    lines.push('#, usec', ...counted.map((value, i) => `${i + 1}, ${short(value)}`));
  }
  if (lines.length > 0 && output === undefined) lines.push(RESULT_LINE, columnsOf(options));
  return [...lines, line];
}

function titleOf({ verb, test, bidirectional, atomic }: PerfOptions): string {
  const names = { write: 'RDMA_Write', read: 'RDMA_Read', send: 'Send', atomic: `Atomic ${atomic}` };
  return `${names[verb]} ${bidirectional ? 'Bidirectional ' : ''}${test === 'bw' ? 'BW' : 'Latency'} Test`;
}

/** The two longest are left out of everything but the maximum and the percentiles (LAT_MEASURE_TAIL). */
function statisticsLine(size: number, iterations: number, sorted: readonly number[], output: string | undefined) {
  const count = Math.max(1, sorted.length - TAIL);
  const at = (index: number): number => sorted[Math.min(index, sorted.length - 1)] ?? 0;
  const counted = sorted.slice(0, count);
  const average = counted.reduce((sum, value) => sum + value, 0) / count;
  if (output === 'latency') return average.toFixed(6);
  const variance = counted.reduce((sum, value) => sum + (value - average) ** 2, 0) / count;
  const middle = Math.floor(count / 2);
  const median = count % 2 === 0 ? (at(middle) + at(middle - 1)) / 2 : at(middle);
  return (
    ` ${pad(size, 7)} ${iterations}          ${fixed(at(0))}        ${fixed(at(count))}      ${fixed(median)}  \t       ` +
    `${fixed(average)}     \t${fixed(Math.sqrt(variance))}\t\t${fixed(at(Math.ceil(count * 0.99)))} ` +
    `\t\t${fixed(at(Math.ceil(count * 0.999)))}`
  );
}

function durationLine(size: number, all: readonly number[], output: string | undefined): string {
  const sum = all.reduce((total, value) => total + value, 0);
  const average = sum / Math.max(1, all.length);
  if (output === 'latency') return average.toFixed(6);
  const perSecond = average === 0 ? 0 : 1e6 / average;
  return ` ${pad(size, 7)}       ${all.length}            ${fixed(average)}        ${fixed(perSecond)}`;
}

function pad(value: number, width: number): string {
  return String(value).padEnd(width);
}

/** %-7.2f */
function fixed(value: number): string {
  return value.toFixed(2).padEnd(7);
}

/** %g, near enough for times. */
function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** %#0<width>x, which puts no 0x before a zero. */
function hash(value: number | bigint, width: number): string {
  const digits = value.toString(16);
  return Number(value) === 0 ? digits.padStart(width, '0') : `0x${digits.padStart(width - 2, '0')}`;
}

const TAIL = 2;
