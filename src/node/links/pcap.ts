/**
 * Ethernet on any interface by way of libpcap and the package cap: our own MAC and IP addresses beside whatever the
 * kernel has there.
 *
 *   pcap:eth0            pcap:tap0,mtu=1500
 *
 * Owns a process that captures and injects (`pcap-process.ts` says why it is one), and the stream of frames to and from
 * it. Works in worker threads as well. The interface is set promiscuous; the kernel of this machine does not see what
 * we inject. libpcap drops what arrives while its ring is full, and the package does not say how much.
 * An interface that goes down ends the link, as its removal does.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { WHOLE_PACKETS } from '../../ground/link.ts';
import { capabilityRequirement } from './capability.ts';
import type { LinkKind } from './kind.ts';
import { type Abandonment, LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';

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
  /** Captured frames that were dropped because we were too slow. */
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
    return new PcapLink({ device: takeInterface(spec), ...defined({ mtu }) });
  },
};

interface PcapNames {
  /** For errors. */
  readonly link: string;
  readonly device: string;
  readonly mtu: number;
}

export class PcapLink extends LifecycleLink<PcapPort> {
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

  constructor({ device, mtu }: PcapLinkOptions) {
    super();
    this.#device = device;
    this.mtu = mtu ?? interfaceMtu(device) ?? DEFAULT_MTU;
    this.name = `pcap:${device}`;
  }

  protected override async open(events: LinkEvents, abandoned: Abandonment): Promise<PcapPort> {
    if (process.platform === 'linux' && !interfaceExists(this.#device))
      throw new Error(`there is no interface ${this.#device}`);
    const port = new PcapPort(events, this.counters, { link: this.name, device: this.#device, mtu: this.mtu });
    abandoned.addEventListener('abort', () => port.kill());
    await port.ready();
    return port;
  }
}

/** The process that captures, and the stream of frames to and from it. */
class PcapPort implements LinkPort {
  readonly #events: LinkEvents;
  readonly #counters: PcapCounters;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #connection: StreamConnection;
  readonly #names: PcapNames;
  #reason = '';

  constructor(events: LinkEvents, counters: PcapCounters, names: PcapNames) {
    this.#events = events;
    this.#counters = counters;
    this.#names = names;
    const child = forkProgram([names.device, String(names.mtu)]);
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    const socket = child.stdio[FRAMES_FD];
    if (!(socket instanceof Socket)) throw new Error('the process of the link has no socket');
    this.#connection = new StreamConnection(socket, {
      receive: (batch) => {
        counters.received += batch.count;
        events.receive(batch);
      },
      writable: () => events.writable(),
      // The process ends with it, which says more.
      ended: () => {},
    });
  }

  /** Resolves when the process captures; rejects when it has ended instead, with the reason. */
  async ready(): Promise<void> {
    try {
      await readiness(this.#child);
    } catch (error) {
      this.kill();
      await this.#exited;
      throw error;
    }
    this.#child.on('message', (message) => this.#hear(message));
    // Until now an end was the end of the start.
    this.#child.once('exit', (_, signal) => this.#exit(signal));
  }

  send(batch: FrameBatch, from: number): number {
    const taken = this.#connection.send(batch, from);
    this.#counters.sent += taken;
    return taken;
  }

  async close(): Promise<void> {
    await this.#connection.close();
    const impatience = setTimeout(() => this.kill(), LINGER_MS);
    await this.#exited;
    clearTimeout(impatience);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #hear(message: unknown): void {
    if (!isPcapReport(message)) return;
    if (message.kind === 'ended') this.#reason = message.reason;
    if (message.kind !== 'counters') return;
    const { oversize, refused, receivedOversize, dropped } = message;
    Object.assign(this.#counters, { oversize, refused, receivedOversize, dropped });
  }

  #exit(signal: NodeJS.Signals | null): void {
    const { link, device } = this.#names;
    const gone = signal === 'SIGABRT' || this.#reason !== '';
    const how = gone ? `the interface ${device} went down or is gone` : 'the process that captures has ended';
    const detail = this.#reason || (signal ?? '');
    this.#events.ended(new RoceError('ERR_ROCE_CLOSED', `${link}: ${how}${detail === '' ? '' : ` (${detail})`}`));
  }
}

/** The process, with a socket for frames and a channel for control messages. */
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

/** What to do about an error of libpcap or of the package's loader. */
function explained(reason: string): string {
  const [line = ''] = reason.split('\n');
  if (/Cannot find (?:package|module)|ERR_DLOPEN|\.node|libpcap\.so|cannot open shared object/.test(reason))
    return `the package cap cannot be loaded; ${CAP_REMEDY} (${line})`;
  if (/permi(?:tted|ssion)|CAP_NET_RAW/i.test(reason))
    return `${line}; it needs the privilege CAP_NET_RAW: ${NET_RAW_REMEDY}`;
  return line;
}

const FRAMES_FD = 4;
/** Where the system gives none. */
const DEFAULT_MTU = 1500;
const LINGER_MS = 2000;
const MAX_WORDS = 2000;
