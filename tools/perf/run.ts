/**
 * A run of perftest from the first message to the last, either role: introductions, queue pairs, traffic, reports.
 *
 * Owns the order in which things happen, which the peer depends on: each side waits for the other at every swap.
 * Sources: write_bw.c, send_bw.c, write_lat.c, send_lat.c, read_lat.c and their like, and conversations between stock
 * programs, in which the number of swaps before and after the traffic was counted.
 */

import type { RdmaDevice } from 'rocev2';
import type { RdmaTcp } from 'rocev2/host';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { type BwTimes, postReceives, receiveAll, reportOf, sendAll } from './bandwidth.ts';
import { bringToRts } from './bring-up.ts';
import { acceptByCm, type CmConnections, connectByCm } from './cm-connections.ts';
import { acceptDatagramsByCm, findDatagramsByCm } from './cm-datagrams.ts';
import { CmExchange } from './cm-exchange.ts';
import type { PerfDest } from './dest.ts';
import { type Exchange, TcpExchange } from './exchange.ts';
import { type BwReport, introduce, swapReports } from './introductions.ts';
import { measureLatency } from './latency.ts';
import { type PerfOptions, sizesOf } from './options.ts';
import { bwLine, columnsOf, destLines, headingOf, latencyLines, RESULT_LINE, sumOf, WAITING } from './report.ts';
import { type PerfContext, PerfSession } from './session.ts';

/** Runs the test; resolves with the exit code. Rejects with RoceError when the peer or the device refuses. */
export async function runPerf(context: PerfContext, tcp: () => RdmaTcp, options: PerfOptions): Promise<number> {
  const run = new Run(context, options);
  const { signal } = context;
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new RoceError('ERR_ROCE_CLOSED', 'interrupted'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([run.all(tcp), stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
    run.cleanUp();
  }
}

class Run {
  readonly #context: PerfContext;
  readonly #options: PerfOptions;
  #exchange: Exchange | undefined;
  #session: PerfSession | undefined;
  #connections: CmConnections | undefined;

  constructor(context: PerfContext, options: PerfOptions) {
    this.#context = context;
    this.#options = options;
  }

  async all(tcp: () => RdmaTcp): Promise<number> {
    const { device } = this.#context;
    const { isServer, mtu, gidIndex } = this.#options;
    if (this.#options.noPeak && this.#options.test === 'bw')
      this.#print(" WARNING: BW peak won't be measured in this run.");
    if (isServer) this.#print(...WAITING);
    const exchange = await this.#meet(tcp);
    this.#exchange = exchange;
    const wanted = Math.min(mtu ?? device.activeMtu, device.activeMtu);
    const terms = await introduce(exchange, wanted);
    const gid = chooseGid(device, exchange.localAddress, gidIndex, this.#options.ipv6 === true);
    const largest = this.#largest(terms.mtu);
    const options = { ...this.#options, size: Math.min(this.#options.size, largest) };
    const session = new PerfSession(this.#context, options, terms, gid, options.size);
    this.#session = session;
    this.#print(...headingOf(options, device.name, terms.mtu, session.local[0]?.gidIndex ?? 0));
    if (options.cm) await this.#connectByCm(exchange, session);
    session.remote = await this.#swapDests(exchange, session);
    if (!options.cm) demandOneVersion(gid, firstOf(session.remote).gid);
    if (!options.cm) await bringToRts(session, session.remote, terms.mtu);
    await this.#tellDests(exchange, session);
    await this.#traffic(exchange, session, sizesOf(options, largest));
    await this.#finish(exchange);
    return 0;
  }

  /** Frees what a run that failed has left. */
  cleanUp(): void {
    this.#exchange?.abort();
    this.#session?.end();
    this.#session = undefined;
  }

  /** UD: a message is one packet. */
  #largest(mtu: number): number {
    const { service, size, all } = this.#options;
    if (service !== 'UD') return Number.MAX_SAFE_INTEGER;
    if (size > mtu && !all) this.#print(` Max msg size in UD is MTU ${mtu}`, ' Changing to this MTU');
    return mtu;
  }

  #meet(tcp: () => RdmaTcp): Promise<Exchange> {
    const { server, port, cmExchange } = this.#options;
    const { signal } = this.#context;
    if (cmExchange) return CmExchange.meet(this.#context, server, port);
    return server === undefined ? TcpExchange.accept(tcp(), port, signal) : TcpExchange.connect(tcp(), server, port);
  }

  /** create_rdma_cm_connection: a swap before, so that the server listens when the client comes, and one after. */
  async #connectByCm(exchange: Exchange, session: PerfSession): Promise<void> {
    const { isServer, service } = this.#options;
    const first = firstOf(session.local);
    const ready = (): Promise<unknown> => exchange.swapDest(first);
    if (service === 'UD') await (isServer ? acceptDatagramsByCm(session, ready) : findDatagramsByCm(session, ready));
    else this.#connections = await (isServer ? acceptByCm(session, ready) : connectByCm(session, ready));
    await exchange.swapDest(first);
  }

  async #swapDests(exchange: Exchange, session: PerfSession): Promise<PerfDest[]> {
    // The latency tests repeat it once more than there are queue pairs.
    if (this.#options.test === 'lat' && this.#options.verb !== 'send') await exchange.swapDest(firstOf(session.local));
    const remote: PerfDest[] = [];
    for (const dest of session.local) remote.push(await exchange.swapDest(dest));
    return remote;
  }

  async #tellDests(exchange: Exchange, session: PerfSession): Promise<void> {
    for (const dest of session.local) this.#print(...destLines('local', dest, this.#options));
    for (const dest of session.local) this.#print(...destLines('remote', await exchange.swapDest(dest), this.#options));
    // Both sides are ready to receive.
    await exchange.swapDest(firstOf(session.local));
  }

  async #traffic(exchange: Exchange, session: PerfSession, sizes: readonly number[]): Promise<void> {
    const { test, verb, isServer } = this.#options;
    const onlyClientWorks = verb === 'read' || verb === 'atomic';
    if (test === 'lat') {
      if (isServer && onlyClientWorks) {
        await exchange.swapDest(firstOf(session.local));
        this.#print(RESULT_LINE);
        return;
      }
      this.#print(RESULT_LINE, columnsOf(this.#options));
      for (const size of sizes) await this.#latencyOf(exchange, session, size);
      if (verb !== 'write') await exchange.swapDest(firstOf(session.local));
      this.#print(RESULT_LINE);
      return;
    }
    this.#print(RESULT_LINE, columnsOf(this.#options));
    if (verb === 'send') await this.#sendBandwidth(exchange, session, sizes);
    else await this.#memoryBandwidth(exchange, session, sizes);
  }

  async #latencyOf(exchange: Exchange, session: PerfSession, size: number): Promise<void> {
    if (this.#options.verb === 'send') {
      postReceives(session);
      await exchange.swapDest(firstOf(session.local));
    }
    this.#tell(latencyLines(this.#options, size, await measureLatency(session, size)));
  }

  /** WRITE, READ, atomics: with one direction the server only waits, and receives the report of the last size. */
  async #memoryBandwidth(exchange: Exchange, session: PerfSession, sizes: readonly number[]): Promise<void> {
    const { bidirectional, isServer, all } = this.#options;
    const first = firstOf(session.local);
    let ours: BwReport = { size: 0, iterations: 0, peak: 0, average: 0, messageRate: 0 };
    if (bidirectional || !isServer) {
      for (const size of sizes) {
        if (bidirectional) await exchange.swapDest(first);
        ours = reportOf(session, size, await sendAll(session, size));
        if (bidirectional && all) await exchange.swapDest(first);
        await this.#tellReport(exchange, ours, bidirectional);
      }
    }
    if (!bidirectional) {
      await exchange.swapDest(first);
      const theirs = await swapReports(exchange, ours);
      if (isServer) this.#tell([bwLine(this.#options, theirs)]);
    }
    this.#print(RESULT_LINE);
    await exchange.swapDest(first);
  }

  async #sendBandwidth(exchange: Exchange, session: PerfSession, sizes: readonly number[]): Promise<void> {
    const { bidirectional, isServer, all, durationS, service } = this.#options;
    const first = firstOf(session.local);
    const mayLose = service !== 'RC' && isServer && !bidirectional;
    for (const size of sizes) {
      if (isServer || bidirectional) postReceives(session);
      await exchange.swapDest(first);
      // A receiver that may miss messages has to learn that there are no more: by the swap after the traffic.
      const told = mayLose ? exchange.swapDest(first) : undefined;
      const times = await this.#sendOrReceive(session, size, told);
      const swapped = bidirectional && durationS === undefined;
      await this.#tellReport(exchange, reportOf(session, size, times), swapped);
      if (told !== undefined) await told;
      else if (all) await exchange.swapDest(first);
    }
    this.#print(RESULT_LINE);
    if (all || !mayLose) await exchange.swapDest(first);
  }

  async #sendOrReceive(session: PerfSession, size: number, told: Promise<unknown> | undefined): Promise<BwTimes> {
    const { bidirectional, isServer, service } = this.#options;
    const { sleep } = this.#context;
    if (!bidirectional && !isServer) return sendAll(session, size);
    if (!bidirectional)
      return receiveAll(
        session,
        told?.then(() => sleep(GRACE_NS)),
      );
    const sending = sendAll(session, size);
    const over = service === 'RC' ? undefined : sending.then(() => sleep(PATIENCE_NS));
    const [sent] = await Promise.all([sending, receiveAll(session, over)]);
    return sent;
  }

  async #tellReport(exchange: Exchange, ours: BwReport, swapped: boolean): Promise<void> {
    if (!swapped) {
      this.#tell([bwLine(this.#options, ours)]);
      return;
    }
    const theirs = await swapReports(exchange, ours);
    this.#tell([bwLine(this.#options, sumOf(ours, theirs), ours)]);
    if (this.#options.reportBoth !== true) return;
    for (const [name, report] of [
      ['Local', ours],
      ['Remote', theirs],
    ] as const) {
      this.#print(RESULT_LINE, '', ` ${name} results: `, RESULT_LINE, columnsOf(this.#options));
      this.#tell([bwLine(this.#options, report)]);
    }
  }

  async #finish(exchange: Exchange): Promise<void> {
    await this.#connections?.end();
    await exchange.end();
    // A reset would follow otherwise, and overtake what the peer has still to read.
    this.#exchange = undefined;
  }

  /** Lines of the full output. */
  #print(...lines: string[]): void {
    if (this.#options.output === undefined) this.#tell(lines);
  }

  #tell(lines: readonly string[]): void {
    for (const line of lines) this.#context.output.line(line);
  }
}

/** Our address: the one with the requested index, else the one the peer connected to, else the first of the version. */
function chooseGid(device: RdmaDevice, met: IpAddress, index: number | undefined, ipv6: boolean): IpAddress {
  const addresses = device.addresses.map(({ address }) => address);
  const chosen =
    index === undefined
      ? (addresses.find((address) => address.equals(met) && (!ipv6 || address.version === 6)) ??
        addresses.find(({ version }) => version === (ipv6 ? 6 : 4)) ??
        addresses[0])
      : addresses[index];
  if (chosen === undefined)
    throw new RoceError(
      'ERR_ROCE_ADDRESS',
      `the device has ${addresses.length} addresses, none of them number ${index}`,
    );
  return chosen;
}

/** ctx_check_gid_compatibility: one side speaks IPv4 and the other IPv6. */
function demandOneVersion(ours: IpAddress, theirs: IpAddress): void {
  if (ours.version === theirs.version) return;
  throw new RoceError(
    'ERR_ROCE_ADDRESS',
    `our address is ${ours} and the peer's ${theirs}: choose addresses of one IP version with -x or --ipv6`,
  );
}

function firstOf(dests: readonly PerfDest[]): PerfDest {
  const [first] = dests;
  if (first === undefined) throw new RoceError('ERR_ROCE_STATE', 'a run has a queue pair');
  return first;
}

/** What is still under way when the peer reports that it has sent everything. */
const GRACE_NS = 200e6;
/** How long to wait for messages that may be lost. */
const PATIENCE_NS = 5e9;
