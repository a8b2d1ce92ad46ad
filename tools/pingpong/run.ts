/**
 * A run of rc_, uc_, ud_ or srq_pingpong: what is printed, and what is sent to the peer over TCP in which order. The
 * server moves its queue pairs before it answers, so that the client's first message finds them ready.
 */

import type { RdmaDevice } from 'rocev2';
import type { RdmaTcp, TcpListener, TcpSocket } from 'rocev2/host';
import { type IpAddress, PSN_MASK, RoceError } from 'rocev2/packets';
import { hex } from '../hex.ts';
import type { ToolOutput } from '../output.ts';
import { ownAddressFor } from '../own-address.ts';
import { DEST_BYTES, DONE, gidName, type PingpongDest, readDest, writeDest } from './protocol.ts';
import { type PingpongOptions, PingpongSession } from './session.ts';

/** What every pingpong program is started with. */
export interface PingpongStart {
  /** The server to connect to; absent: be one. */
  readonly server: IpAddress | undefined;
  readonly port: number;
  /** Our address; absent: the one that fits the peer's. */
  readonly gid: IpAddress | undefined;
  /** The TCP port of the exchange. */
  readonly tcp: RdmaTcp;
  /** Starting PSNs. */
  readonly random: () => number;
  /** Nanoseconds, from anywhere. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

/** Resolves with the exit code. Rejects with RoceError for what the device, the wire or the peer refuses. */
export async function runPingpong(
  device: RdmaDevice,
  options: PingpongOptions,
  start: PingpongStart,
  output: ToolOutput,
): Promise<number> {
  const session = new PingpongSession(device, options);
  try {
    const { server, gid = ownAddressFor(device, server) } = start;
    const ours = session.qps.map(({ qpn }) => ({ lid: 0, qpn, psn: start.random() & PSN_MASK, gid }));
    for (const dest of ours) output.line(`  local address:  ${destText(dest)}`);
    const theirs = await introduce(session, options, start, ours);
    for (const dest of theirs.slice(0, ours.length)) output.line(`  remote address: ${destText(dest)}`);
    if (server !== undefined) {
      await session.connect(ours, theirs);
      session.begin();
    }
    const begin = start.now();
    if (!(await session.run((text) => output.complaint(text)))) return 1;
    report(options, (start.now() - begin) / 1e3, output);
    if (options.check && server === undefined)
      for (const page of session.spoiltPages()) output.line(`invalid data in page ${page}`);
    return 0;
  } finally {
    session.end();
  }
}

/** Both sides exchange their addresses; the server is connected when it returns. */
async function introduce(
  session: PingpongSession,
  { service }: PingpongOptions,
  { server, port, tcp, signal }: PingpongStart,
  ours: readonly PingpongDest[],
): Promise<PingpongDest[]> {
  // srq_pingpong always sends as many as it could have, the others one.
  const count = service === 'srq' ? MAX_SRQ_QPS : 1;
  const told = Array.from({ length: count }, (_, i) => writeDest(ours[i] ?? NO_DEST));
  if (server !== undefined) {
    const socket = await tcp.connect(server, port);
    return withSocket(socket, signal, async () => {
      for (const line of told) await socket.write(line);
      const theirs = await readDests(socket, count);
      await socket.write(DONE);
      return theirs;
    });
  }
  const listener = tcp.listen(port);
  const socket = await nextClient(listener, signal).finally(() => listener.close());
  return withSocket(socket, signal, async () => {
    const theirs = await readDests(socket, count);
    await session.connect(ours, theirs);
    for (const line of told) await socket.write(line);
    await socket.read(DONE.length);
    return theirs;
  });
}

/** The next connection. Rejects with ERR_ROCE_CLOSED when the signal comes first. */
export async function nextClient(listener: TcpListener, signal: AbortSignal | undefined): Promise<TcpSocket> {
  const { value, done } = await abortable(
    signal,
    () => listener.close(),
    () => listener.next(),
  );
  if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'no peer connected before the end');
  return value;
}

async function withSocket<T>(socket: TcpSocket, signal: AbortSignal | undefined, talk: () => Promise<T>): Promise<T> {
  try {
    return await abortable(signal, () => socket.abort(), talk);
  } finally {
    await socket.close();
  }
}

/** Lets `stop` end what `wait` waits for when the signal comes. */
export async function abortable<T>(
  signal: AbortSignal | undefined,
  stop: () => void,
  wait: () => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  try {
    return await wait();
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

async function readDests(socket: TcpSocket, count: number): Promise<PingpongDest[]> {
  const dests: PingpongDest[] = [];
  while (dests.length < count) dests.push(readDest(await socket.read(DEST_BYTES)));
  return dests;
}

function destText({ lid, qpn, psn, gid }: PingpongDest): string {
  return `LID 0x${hex(lid, 4)}, QPN 0x${hex(qpn, 6)}, PSN 0x${hex(psn, 6)}, GID ${gidName(gid)}`;
}

function report({ size, iterations }: PingpongOptions, microseconds: number, output: ToolOutput): void {
  const bytes = size * iterations * 2;
  const seconds = (microseconds / 1e6).toFixed(2);
  output.line(`${bytes} bytes in ${seconds} seconds = ${((bytes * 8) / microseconds).toFixed(2)} Mbit/sec`);
  output.line(`${iterations} iters in ${seconds} seconds = ${(microseconds / iterations).toFixed(2)} usec/iter`);
}

const MAX_SRQ_QPS = 256;
const NO_DEST: PingpongDest = { lid: 0, qpn: 0, psn: 0, gid: undefined };
