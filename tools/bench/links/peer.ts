/**
 * One end of a contestant, in a process of its own: reads commands from standard input, answers on standard output,
 * ends when the input does. Owns this protocol; what a peer does is in the file of its kind.
 */
import { createInterface } from 'node:readline';
import { RoceError } from 'rocev2/packets';
import { DgramPeer } from './dgram-peer.ts';
import type { BenchPeer, PeerCommand, PeerConfig, PeerMemory, PeerReply, PeerRequest } from './protocol.ts';
import { RocePeer } from './roce-peer.ts';
import { TcpPeer } from './tcp-peer.ts';
import { WorldPeer } from './world-peer.ts';

let peer: BenchPeer | undefined;
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void serve(JSON.parse(line) as PeerRequest));
// The bench has ended: no more requests will come.
lines.on('close', () => process.exit());

async function serve(request: PeerRequest): Promise<void> {
  let reply: PeerReply;
  try {
    reply = { id: request.id, result: (await obey(request)) ?? null };
  } catch (error) {
    const { code, message } = describeError(error);
    reply = { id: request.id, error: { code, message } };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

async function obey(command: PeerCommand): Promise<unknown> {
  if (command.do === 'open') {
    peer = await openPeer(command.config);
    return undefined;
  }
  if (command.do === 'memory') return memory();
  if (peer === undefined) throw new Error('nothing is open');
  switch (command.do) {
    case 'connect':
      return peer.connect();
    case 'measure':
      return peer.measure(command.task, command.amount);
    case 'disk':
      if (peer.measureDisk === undefined) throw new Error('such a peer has no disk');
      return peer.measureDisk(command.task, command.amount);
    case 'soak':
      return peer.soak(command.seconds);
    case 'counters':
      return { ...peer.counters(), ...processTimes() };
    case 'close':
      return peer.close();
  }
}

function openPeer(config: PeerConfig): Promise<BenchPeer> {
  switch (config.kind) {
    case 'roce':
      return RocePeer.open(config);
    case 'world':
      return WorldPeer.open();
    case 'dgram':
      return DgramPeer.open(config);
    case 'tcp':
      return TcpPeer.open(config);
  }
}

function processTimes(): { cpuMs: number; wallMs: number } {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() };
}

function memory(): PeerMemory {
  // Buffers are freed one collection after the objects that hold them.
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, held: heapUsed + external };
}

function describeError(error: unknown): { code: string; message: string } {
  if (error instanceof RoceError) return { code: error.code, message: error.message };
  return { code: '', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
