/**
 * Bare `node:dgram` between two processes: what our links are measured against. Datagrams are as long as our packets.
 *
 * goodput and rate: one way, at most `WINDOW` datagrams unacknowledged, the receiver acknowledges every `ACK_EVERY`th
 * with a few bytes; every byte of a datagram counts as payload. flood: as fast as the sender can, and what arrives is
 * counted. roundTrip: a datagram is sent back as it came. As on the link `udp6`, one socket serves any peer and names
 * it with each datagram, and no name is looked up; `connected` sockets know one peer only and are cheaper, by a sixth
 * or so.
 */
import { createSocket, type Socket } from 'node:dgram';
import { setImmediate as eventLoop, setTimeout as sleep } from 'node:timers/promises';
import { kernelDrops } from './kernel-drops.ts';
import {
  type Amount,
  type BenchPeer,
  type DgramConfig,
  type Figures,
  type MeasuredTask,
  MIDDLE_HEADER_BYTES,
  PATH_MTU,
  type PeerCounters,
  SEND_ONLY_HEADER_BYTES,
  SMALL_BYTES,
  WRITE_ONLY_HEADER_BYTES,
} from './protocol.ts';
import { Interval, Samples } from './samples.ts';

/** First byte of a datagram to the receiver. */
const Kind = { Data: 1, Flood: 2, Echo: 3, Ask: 4, Begin: 5 } as const;

/** What a queue pair of ours has unacknowledged by default. */
const WINDOW = 128;
const ACK_EVERY = 32;
const PORT = 7472;
/** More than a window, in the kernel's way of counting; the kernel grants up to net.core.rmem_max. */
const SOCKET_BUFFER_BYTES = 0x40_00_00;
const FLOOD_BURST = 32;
const STALLED_MS = 50;
/** A count and a duration in milliseconds. */
const REPORT_BYTES = 16;

export class DgramPeer implements BenchPeer {
  readonly #socket: Socket;
  readonly #send: Send;
  readonly #receiver: Receiver | undefined;
  #receive: (message: Buffer) => void = () => {};
  #lost = 0;

  private constructor(socket: Socket, { role, peer, connected }: DgramConfig) {
    this.#socket = socket;
    this.#send = connected ? (data) => socket.send(data) : (data) => socket.send(data, PORT, peer);
    this.#receiver = role === 'server' ? new Receiver(this.#send) : undefined;
    socket.on('message', (message) => {
      if (this.#receiver === undefined) this.#receive(message);
      else this.#receiver.receive(message);
    });
    // Refused when the other end is not there yet: `ask` repeats the request.
    socket.on('error', () => {});
  }

  static async open(config: DgramConfig): Promise<DgramPeer> {
    const sizes = { recvBufferSize: SOCKET_BUFFER_BYTES, sendBufferSize: SOCKET_BUFFER_BYTES };
    const socket = createSocket({ type: 'udp6', ...sizes, lookup: (host, _, found) => found(null, host, 6) });
    await new Promise<void>((resolve) => socket.bind(PORT, config.address, resolve));
    if (config.connected) await new Promise<void>((resolve) => socket.connect(PORT, config.peer, resolve));
    return new DgramPeer(socket, config);
  }

  async connect(): Promise<void> {
    await this.#ask(Kind.Begin);
  }

  async measure(task: MeasuredTask, amount: Amount): Promise<Figures> {
    await this.#ask(Kind.Begin);
    const packets = { ...amount, least: amount.least * ACK_EVERY };
    switch (task) {
      case 'goodput': {
        const length = PATH_MTU + MIDDLE_HEADER_BYTES;
        return { goodput: length * (await this.#stream(length, packets)) };
      }
      case 'rate':
        return { rate: await this.#stream(SMALL_BYTES + WRITE_ONLY_HEADER_BYTES, packets) };
      case 'flood':
        return this.#flood(PATH_MTU + MIDDLE_HEADER_BYTES, packets);
      case 'roundTrip':
        return this.#roundTrip(SMALL_BYTES + SEND_ONLY_HEADER_BYTES, amount);
    }
  }

  soak(): Promise<void> {
    throw new Error('bare datagrams are not soaked');
  }

  counters(): PeerCounters {
    return { ...kernelDrops(), lostPkts: this.#lost };
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(resolve));
  }

  /** Datagrams a second that arrived, as the ACKs report. */
  #stream(length: number, { seconds, least }: Amount): Promise<number> {
    const data = new Uint8Array(length).fill(Kind.Data);
    const clock = new Interval(seconds);
    let [sent, arrived, lost, sentWhenAsked] = [0, 0, 0, 0];
    const fill = (): void => {
      for (; sent - arrived - lost < WINDOW; sent++) this.#send(data);
    };
    return new Promise((resolve) => {
      let before = -1;
      const watchdog = setInterval(() => {
        // The receiver reports its count on request; what was sent before and has not arrived by then is lost.
        if (arrived === before) {
          sentWhenAsked = sent;
          this.#send(Uint8Array.of(Kind.Ask));
        }
        before = arrived;
      }, STALLED_MS);
      this.#receive = (report) => {
        const { count, answer } = readReport(report);
        clock.tick(count - arrived);
        arrived = count;
        if (answer) lost = Math.max(0, sentWhenAsked - arrived);
        if (clock.running || arrived < least) {
          fill();
        } else if (arrived + lost === sent) {
          clearInterval(watchdog);
          this.#lost += lost;
          resolve(clock.rate);
        }
      };
      fill();
    });
  }

  async #flood(length: number, { seconds, least }: Amount): Promise<Figures> {
    const data = new Uint8Array(length).fill(Kind.Flood);
    const until = performance.now() + seconds * 1000;
    let sent = 0;
    while (sent < least || performance.now() < until) {
      for (let i = 0; i < FLOOD_BURST; i++) this.#send(data);
      sent += FLOOD_BURST;
      await eventLoop();
    }
    let report = await this.#ask(Kind.Ask);
    for (let before = -1; report.count !== before; ) {
      before = report.count;
      await sleep(STALLED_MS);
      report = await this.#ask(Kind.Ask);
    }
    const { count, elapsedMs } = report;
    return { goodput: (length * count * 1000) / elapsedMs, sent, received: count };
  }

  #roundTrip(length: number, { seconds, least }: Amount): Promise<Figures> {
    const data = new Uint8Array(length).fill(Kind.Echo);
    const samples = new Samples();
    const until = performance.now() + seconds * 1000;
    return new Promise((resolve) => {
      let began = performance.now();
      this.#receive = () => {
        const now = performance.now();
        samples.add(now - began);
        if (samples.count >= least && now >= until) {
          resolve(samples.figures());
          return;
        }
        began = performance.now();
        this.#send(data);
      };
      this.#send(data);
    });
  }

  /** Repeats the request until there is an answer. */
  #ask(kind: number): Promise<Report> {
    return new Promise((resolve) => {
      const question = Uint8Array.of(kind);
      const again = setInterval(() => this.#send(question), STALLED_MS);
      this.#receive = (message) => {
        const report = readReport(message);
        if (!report.answer) return;
        clearInterval(again);
        resolve(report);
      };
      this.#send(question);
    });
  }
}

type Send = (data: Uint8Array) => void;

/** What the server does with each datagram. */
class Receiver {
  readonly #send: Send;
  readonly #report = new Uint8Array(REPORT_BYTES);
  readonly #view = new DataView(this.#report.buffer);
  #count = 0;
  #first = -1;
  #last = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  receive(message: Buffer): void {
    switch (message[0]) {
      case Kind.Data:
        this.#count += 1;
        if (this.#count % ACK_EVERY === 0) this.#tell(false);
        return;
      case Kind.Flood:
        this.#count += 1;
        this.#last = performance.now();
        if (this.#first < 0) this.#first = this.#last;
        return;
      case Kind.Echo:
        this.#send(message);
        return;
      case Kind.Begin:
        this.#count = 0;
        this.#first = -1;
    }
    this.#tell(true);
  }

  #tell(answer: boolean): void {
    this.#view.setUint32(0, this.#count);
    this.#view.setUint32(4, answer ? 1 : 0);
    this.#view.setFloat64(8, this.#last - this.#first);
    this.#send(this.#report);
  }
}

interface Report {
  readonly count: number;
  /** Asked for, and not just an ACK. */
  readonly answer: boolean;
  readonly elapsedMs: number;
}

function readReport(message: Buffer): Report {
  return { count: message.readUInt32BE(0), answer: message.readUInt32BE(4) === 1, elapsedMs: message.readDoubleBE(8) };
}
