/**
 * Ethernet on any interface by way of libpcap and the package cap: our own MAC and IP addresses beside whatever the kernel has there.
 *
 *   pcap:eth0            pcap:tap0,mtu=1500
 *
 * Owns a process that captures and injects (`pcap-process.ts` says why it is one), and the stream of frames to and from it. Works in worker
 * threads as well. The interface is set promiscuous; the kernel of this machine does not see what we inject.
 * libpcap drops what arrives while its ring is full, and the package does not say how much.
 * An interface that goes down ends the link, as its removal does.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { type Link, type LinkSink, WHOLE_PACKETS } from '../../ground/link.ts';
import { capabilityRequirement } from './capability.ts';
import type { LinkKind } from './kind.ts';
import { linuxRequirement, NET_RAW_REMEDY, packageRequirement } from './native-package.ts';
import { interfaceExists, interfaceMtu, takeInterface } from './netdev.ts';
import { isPcapReport } from './pcap-protocol.ts';
import { StreamConnection } from './stream-connection.ts';

export interface PcapLinkOptions {
  /** Name of the interface, `eth0`. */
  readonly device: string;
  /** Largest IP packet in bytes; default the interface's MTU. */
  readonly mtu?: number;
}

/** What the process counts arrives here a moment later. */
export interface PcapCounters {
  /** Frames handed to the process, which injects them in order. */
  sent: number;
  received: number;
  /** Frames not sent: longer than the MTU. */
  oversize: number;
  /** Frames that the interface refused. */
  refused: number;
  /** Frames dropped on arrival: longer than the MTU, such as what TCP offload puts together. */
  receivedOversize: number;
  /** Frames captured that we were too slow for. */
  dropped: number;
}

const CAP_REMEDY = 'npm install cap, which needs libpcap (Debian: libpcap-dev), a C++ compiler, make and Python';

export const pcapKind: LinkKind = {
  name: 'pcap',
  usage: 'INTERFACE[,mtu=N]',
  summary: 'any Ethernet interface, through libpcap; CAP_NET_RAW',
  medium: Medium.Ethernet,
  ecn: WHOLE_PACKETS,
  requirements: async () => [
    linuxRequirement(),
    await packageRequirement('cap', CAP_REMEDY),
    capabilityRequirement('CAP_NET_RAW'),
  ],
  open: (spec) => {
    const mtu = spec.takeMtu();
    return new PcapLink({ device: takeInterface(spec), ...(mtu === undefined ? {} : { mtu }) });
  },
};

export class PcapLink implements Link {
  readonly name: string;
  readonly medium = Medium.Ethernet;
  readonly ecn = WHOLE_PACKETS;
  readonly mtu: number;
  readonly counters: PcapCounters = {
    sent: 0,
    received: 0,
    oversize: 0,
    refused: 0,
    receivedOversize: 0,
    dropped: 0,
  };

  readonly #device: string;
  #sink: LinkSink | undefined;
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #connection: StreamConnection | undefined;
  #reason = '';
  #ready = false;
  #ended = false;

  constructor({ device, mtu }: PcapLinkOptions) {
    this.#device = device;
    this.mtu = mtu ?? interfaceMtu(device) ?? DEFAULT_MTU;
    this.name = `pcap:${device}`;
  }

  /** Resolves when frames can be sent. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE, ERR_ROCE_STATE */
  async start(sink: LinkSink): Promise<void> {
    if (this.#sink !== undefined || this.#ended) throw new RoceError('ERR_ROCE_STATE', `${this.name} is started once`);
    this.#sink = sink;
    try {
      if (process.platform === 'linux' && !interfaceExists(this.#device))
        throw new Error(`there is no interface ${this.#device}`);
      await this.#launch();
      this.#ready = true;
    } catch (cause) {
      const closed = this.#ended;
      this.#ended = true;
      this.#process?.kill('SIGKILL');
      await this.#exited;
      if (closed) throw new RoceError('ERR_ROCE_CLOSED', `${this.name} was closed before it had started`);
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${this.name}: ${reason}`, { cause });
    }
  }

  /** After the end everything is taken and lost. */
  send(batch: FrameBatch, from: number): number {
    const connection = this.#connection;
    if (connection === undefined || this.#ended) return batch.count - from;
    const taken = connection.send(batch, from);
    this.counters.sent += taken;
    return taken;
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    // Nothing was taken yet that would have to go first.
    if (!this.#ready) this.#process?.kill('SIGKILL');
    await this.#connection?.close();
    const impatience = setTimeout(() => this.#process?.kill('SIGKILL'), LINGER_MS);
    await this.#exited;
    clearTimeout(impatience);
    this.#sink?.closed();
  }

  async #launch(): Promise<void> {
    const child = forkProgram([this.#device, String(this.mtu)]);
    this.#process = child;
    this.#exited = new Promise((resolve) => {
      child.once('exit', (_, signal) => {
        this.#exit(signal);
        resolve();
      });
      child.once('error', () => resolve());
    });
    const socket = child.stdio[FRAMES_FD];
    if (!(socket instanceof Socket)) throw new Error('the process of the link has no socket');
    this.#connection = new StreamConnection(socket, {
      receive: (batch) => this.#receive(batch),
      writable: () => {
        if (!this.#ended) this.#sink?.writable();
      },
      // The process ends with it, which says more.
      ended: () => {},
    });
    await readiness(child);
    child.on('message', (message) => this.#hear(message));
  }

  #receive(batch: FrameBatch): void {
    if (this.#ended) return;
    this.counters.received += batch.count;
    this.#sink?.receive(batch);
  }

  #hear(message: unknown): void {
    if (!isPcapReport(message)) return;
    if (message.kind === 'ended') this.#reason = message.reason;
    if (message.kind !== 'counters') return;
    this.counters.refused = message.refused;
    this.counters.oversize = message.oversize;
    this.counters.receivedOversize = message.receivedOversize;
    this.counters.dropped = message.dropped;
  }

  #exit(signal: NodeJS.Signals | null): void {
    // Whoever starts it is told by that.
    if (this.#ended || !this.#ready) return;
    this.#ended = true;
    const gone = signal === 'SIGABRT' || this.#reason !== '';
    const how = gone ? `the interface ${this.#device} went down or is gone` : 'the process that captures has ended';
    const detail = this.#reason || (signal ?? '');
    this.#sink?.closed(new RoceError('ERR_ROCE_CLOSED', `${this.name}: ${how}${detail === '' ? '' : ` (${detail})`}`));
  }
}

/** The process, with a socket for frames and a channel for what else there is to say. */
function forkProgram(words: readonly string[]): ChildProcess {
  const own = fileURLToPath(import.meta.url);
  const program = join(dirname(own), `pcap-process${extname(own)}`);
  // From the sources, the loader of TypeScript that this project develops with.
  const loader =
    extname(own) === '.ts' ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : [];
  return fork(program, words, { execArgv: loader, stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'] });
}

/** Resolves when the process captures; rejects with what kept it from that. */
function readiness(child: ChildProcess): Promise<void> {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = `${words}${text}`.slice(-MAX_WORDS);
  });
  return new Promise((resolve, reject) => {
    child.once('message', (message) => {
      if (isPcapReport(message) && message.kind === 'failed') reject(new Error(explained(message.reason)));
      else resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`the process that captures has ended at once: ${words.trim()}`)));
  });
}

/** What to do about what libpcap, or the loader of the package, says. */
function explained(reason: string): string {
  const [line = ''] = reason.split('\n');
  if (/Cannot find (?:package|module)|ERR_DLOPEN|\.node|libpcap\.so|cannot open shared object/.test(reason))
    return `the package cap cannot be loaded; ${CAP_REMEDY} (${line})`;
  if (/permi(?:tted|ssion)|CAP_NET_RAW/i.test(reason))
    return `${line}; it needs the privilege CAP_NET_RAW: ${NET_RAW_REMEDY}`;
  return line;
}

const FRAMES_FD = 4;
/** Where nothing tells. */
const DEFAULT_MTU = 1500;
const LINGER_MS = 2000;
const MAX_WORDS = 2000;
