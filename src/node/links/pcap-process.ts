/**
 * The process of a pcap link: it alone loads the package cap, captures, and injects what its parent sends. A program,
 * run by `pcap.ts`.
 *
 * Why a process: the package calls assert() on an error of its descriptor, so that an interface going down aborts the
 * process (seen, 5 of 5); it keeps capturing without a turn of the event loop for as long as packets come; and it
 * cannot live in a worker thread (ref:platform#2). Here none of that reaches the stack. Frames go both ways over
 * descriptor 4, framed as everywhere (`length-framing.ts`); how it started, how it ended and what was lost goes over
 * the channel of node:child_process. It ends when its parent does.
 */
import { Socket } from 'node:net';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { linkHeaderBytes, type PcapReport } from './pcap-protocol.ts';
import { StreamConnection } from './stream-connection.ts';

/** The parts of npm `cap` 0.2.1 that are used; it publishes no types. */
interface CapModule {
  readonly Cap: new () => Capture;
}

interface Capture {
  /** Returns the type of the link layer. Keeps a bare pointer to `buffer`. Throws the error of libpcap. */
  open(device: string, filter: string, ringBytes: number, buffer: Buffer): string;
  on(event: 'packet', listener: (bytes: number, truncated: boolean) => void): this;
  /** Injects the first `bytes` of `frame`, at once. Throws the error of libpcap. */
  send(frame: Buffer, bytes: number): void;
  close(): boolean;
}

class CaptureProcess implements FrameBatch {
  readonly bytes = new Uint8Array(SLAB_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;

  readonly #capture: Capture;
  readonly #connection: StreamConnection;
  readonly #mtu: number;
  /** Where the package puts each frame in turn. Held here, as the package itself is, until the process ends. */
  readonly #frame = Buffer.alloc(MAX_FRAME_BYTES);
  readonly #report = {
    kind: 'counters',
    oversize: 0,
    refused: 0,
    receivedOversize: 0,
    dropped: 0,
  } satisfies PcapReport;
  #reported = '';
  #filled = 0;
  #flushing: NodeJS.Immediate | undefined;

  constructor(cap: CapModule, device: string, mtu: number) {
    this.#mtu = mtu;
    this.#capture = new cap.Cap();
    const type = this.#capture.open(device, FILTER, RING_BYTES, this.#frame);
    if (type !== 'ETHERNET') throw new Error(`${device} is no Ethernet interface but ${type}`);
    this.#capture.on('packet', (bytes) => this.#captured(bytes));
    const socket = new Socket({ fd: FRAMES_FD, readable: true, writable: true });
    this.#connection = new StreamConnection(socket, {
      receive: (batch) => this.#inject(batch),
      writable: () => {},
      ended: () => this.#end(),
    });
    setInterval(() => this.#tell(), REPORT_MS).unref();
  }

  #captured(bytes: number): void {
    if (bytes - linkHeaderBytes(this.#frame, 0) > this.#mtu) {
      this.#report.receivedOversize++;
      return;
    }
    this.bytes.set(this.#frame.subarray(0, bytes), this.#filled);
    this.starts[this.count] = this.#filled;
    this.lengths[this.count] = bytes;
    this.count++;
    this.#filled += bytes;
    // The package may go on for long without a turn of the event loop.
    if (this.count === BATCH_FRAMES || this.#filled > SLAB_BYTES - MAX_FRAME_BYTES) this.#flush();
    else this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
    this.#flushing = undefined;
    if (this.count > 0) this.#report.dropped += this.count - this.#connection.send(this, 0);
    this.count = 0;
    this.#filled = 0;
  }

  #inject(batch: FrameBatch): void {
    for (let i = 0; i < batch.count; i++) this.#injectOne(batch, batch.starts[i] ?? 0, batch.lengths[i] ?? 0);
  }

  /** Waits for room without reading: the sockets to the parent fill up meanwhile, and the parent waits. */
  #injectOne({ bytes }: FrameBatch, start: number, length: number): void {
    if (length - linkHeaderBytes(bytes, start) > this.#mtu) {
      this.#report.oversize++;
      return;
    }
    const frame = Buffer.from(bytes.buffer, bytes.byteOffset + start, length);
    for (let tries = 0; ; tries++) {
      try {
        this.#capture.send(frame, length);
        return;
      } catch (error) {
        const reason = reasonOf(error);
        if (GONE.test(reason)) this.#gone(reason);
        if (!NO_ROOM.test(reason) || tries === MAX_TRIES) break;
        Atomics.wait(sleeper, 0, 0, RETRY_MS);
      }
    }
    this.#report.refused++;
  }

  /** Before the package finds out and aborts. */
  #gone(reason: string): never {
    this.#tell();
    tell({ kind: 'ended', reason });
    process.exit(0);
  }

  #end(): void {
    this.#capture.close();
    this.#tell();
    process.disconnect();
    process.exit(0);
  }

  #tell(): void {
    const report = JSON.stringify(this.#report);
    if (report !== this.#reported) tell(this.#report);
    this.#reported = report;
  }
}

function tell(report: PcapReport): void {
  if (process.connected) process.send?.(report, undefined, undefined, () => {});
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function run(): Promise<void> {
  const [device = '', mtu = ''] = process.argv.slice(2);
  // Ctrl-C reaches every process of the terminal; the parent decides when to end; its exit ends this process too.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  let reason: PcapReport;
  try {
    const cap: { readonly default: CapModule } = await import('cap');
    live.add(new CaptureProcess(cap.default, device, Number(mtu)));
    reason = { kind: 'ready' };
  } catch (error) {
    reason = { kind: 'failed', reason: reasonOf(error) };
  }
  // A capture that failed to open half is freed wrongly by the package: the process ends before that can happen.
  process.send?.(reason, undefined, undefined, () => {
    if (reason.kind === 'failed') process.exit(1);
  });
}

/** What must not be collected. */
const live = new Set<CaptureProcess>();
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** 0 to 2 are the usual ones, 3 is the channel. */
const FRAMES_FD = 4;
const BATCH_FRAMES = 64;
const MAX_FRAME_BYTES = 0x1_00_00;
const SLAB_BYTES = 0x8_00_00;
/** libpcap takes a slot of 64 KiB for each frame on an interface with offloads: 512 frames. */
const RING_BYTES = 0x2_00_00_00;
const RETRY_MS = 0.2;
/** 100 ms; a queue that does not move for that long is as good as unplugged. */
const MAX_TRIES = 500;
const REPORT_MS = 50;

/**
 * Packets for a device: RoCE, ARP and neighbour discovery, with up to two VLAN tags (man 7 pcap-filter). No `inbound`
 * here: libpcap itself filters what came before the kernel does, cannot distinguish directions there, and loses the
 * first frame (seen, 1.10.3). What this machine sends on the interface comes in as well, then; what we inject does not
 * come back to us (packet sockets, seen).
 */
const WANTED = 'udp port 4791 or arp or icmp or icmp6';
const FILTER = `${WANTED} or (vlan and (${WANTED} or (vlan and (${WANTED}))))`;

const NO_ROOM = /No buffer space available|Resource temporarily unavailable/;
const GONE = /Network is down|No such device/;

await run();
