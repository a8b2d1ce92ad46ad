/**
 * The messages of perftest before and after its traffic: version, page and cache line, MTU, then reports.
 *
 * Owns the messages and their order. The version is that of Debian's perftest 4.5+0.17, whose dialect this is: what a
 * peer does depends on it (reports of 8 bytes each since 5.33, the cache line since 5.32).
 * Sources: perftest_communication.c#exchange_versions, #check_sys_data, #check_mtu, #xchg_bw_reports; real
 * conversations.
 */
import { RoceError } from 'rocev2/packets';
import type { Exchange } from './exchange.ts';

/** What a bandwidth test has measured. */
export interface BwReport {
  readonly size: number;
  readonly iterations: number;
  /** MiB/s, or Gb/s with `gigabits`; 0: not measured. */
  readonly peak: number;
  readonly average: number;
  /** Millions of messages per second. */
  readonly messageRate: number;
}

/** The settings that both sides have agreed on. */
export interface PerfAgreement {
  /** Path MTU in bytes: the smaller of both. */
  readonly mtu: number;
  /** What the addresses of small messages walk round in: the larger of both, in bytes. */
  readonly cycleBytes: number;
}

/** Exchanges what comes before queue pairs are made. Rejects with ERR_ROCE_REJECTED for a peer of another dialect. */
export async function introduce(exchange: Exchange, mtu: number): Promise<PerfAgreement> {
  const version = new Uint8Array(VERSION_BYTES);
  version.set(new TextEncoder().encode(PERFTEST_VERSION));
  const theirs = new TextDecoder('latin1').decode(await exchange.swap(version)).replace(/\0.*$/s, '');
  if (!(Number.parseFloat(theirs) >= MIN_VERSION))
    throw new RoceError(
      'ERR_ROCE_REJECTED',
      `the peer has version ${JSON.stringify(theirs)}, at least ${MIN_VERSION} is needed`,
    );
  const cycleBytes = viewOf(await exchange.swap(int32(CYCLE_BUFFER_BYTES))).getUint32(0);
  if (cycleBytes > MAX_CYCLE_BUFFER_BYTES)
    throw new RoceError('ERR_ROCE_REJECTED', `the peer has pages of ${cycleBytes} bytes`);
  await exchange.swap(int32(CACHE_LINE_BYTES));
  const digit = new TextDecoder('latin1').decode(await exchange.swap(mtuWord(mtu)));
  const code = Number.parseInt(digit, 10);
  const remote = code >= 1 && code <= 5 ? 128 << code : mtu;
  return { mtu: Math.min(mtu, remote), cycleBytes: Math.max(CYCLE_BUFFER_BYTES, cycleBytes) };
}

/** Sends our figures and resolves with theirs. */
export async function swapReports(exchange: Exchange, ours: BwReport): Promise<BwReport> {
  const size = await swapLong(exchange, ours.size);
  const iterations = await swapLong(exchange, ours.iterations);
  const peak = await swapDouble(exchange, ours.peak);
  const average = await swapDouble(exchange, ours.average);
  return { size, iterations, peak, average, messageRate: await swapDouble(exchange, ours.messageRate) };
}

async function swapLong(exchange: Exchange, value: number): Promise<number> {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value));
  return Number(viewOf(await exchange.swap(new Uint8Array(view.buffer))).getBigUint64(0));
}

async function swapDouble(exchange: Exchange, value: number): Promise<number> {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return viewOf(await exchange.swap(new Uint8Array(view.buffer))).getFloat64(0);
}

function int32(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value);
  return new Uint8Array(view.buffer);
}

/** The code of verbs as a digit: 1 is 256 bytes, 5 is 4096. */
function mtuWord(mtu: number): Uint8Array {
  return new TextEncoder().encode(`${Math.log2(mtu / 128)}\0`);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** PERFTEST_VERSION as the stock programs exchange it. */
export const PERFTEST_VERSION = '6.06';
/** A page. */
const CYCLE_BUFFER_BYTES = 4096;
const MAX_CYCLE_BUFFER_BYTES = 1 << 20;
const MIN_VERSION = 5.7;
const VERSION_BYTES = 16;
const CACHE_LINE_BYTES = 64;
