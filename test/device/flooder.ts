/**
 * A third party beside devices of the simulated world: it sends frames of any source address at a given rate, and
 * counts what is sent to its own MAC address and to all.
 */
import { RdmaPortSpace, rdmaServiceId } from '../../packets/cm/index.ts';
import {
  BTH_BYTES,
  Frame,
  type FrameBatch,
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  IpPrefix,
  Medium,
  Op,
  parseFrame,
  parseMac,
  writeBth,
  writeDeth,
} from '../../packets/index.ts';
import { GSI_QKEY } from '../../packets/management.ts';
import { Neighbours } from '../../src/device/host/neighbours.ts';
import { segmentFrame, TcpFlag } from '../../src/device/host/tcp/segment.ts';
import { Prng } from '../../src/ground/prng.ts';
import type { Host, Machine, World } from '../../src/index.ts';
import { ConnectionManager } from '../../transport/cm/index.ts';

export const EVIL_MAC = parseMac('02:66:66:66:66:66');

/** Makes the next frame of a flood; called once for each. */
type MakeFrame = (index: number) => Uint8Array;

export class Flooder implements Machine {
  /** What the flooder has sent, and what has arrived at it: frames and bytes. */
  readonly sent = { frames: 0, bytes: 0 };
  readonly heard = { frames: 0, bytes: 0 };
  /** The last frame that has arrived. */
  last = new DataView(new ArrayBuffer(0));
  #neighbours: Neighbours | undefined;
  readonly #host: Host;
  readonly #floods: { readonly make: MakeFrame; readonly every: number; left: number; index: number; at: number }[] =
    [];

  constructor(host: Host) {
    this.#host = host;
  }

  /** From now on `count` frames, so many in a second; the first at once. */
  flood(count: number, perSecond: number, make: MakeFrame): void {
    this.#floods.push({ make, every: Math.round(1e9 / perSecond), left: count, index: 0, at: this.#host.now() });
    this.#host.wake();
  }

  receive(batch: FrameBatch): void {
    for (let i = 0; i < batch.count; i++) {
      this.heard.frames += 1;
      this.heard.bytes += batch.lengths[i] ?? 0;
      const start = batch.starts[i] ?? 0;
      this.last = new DataView(batch.bytes.slice(start, start + (batch.lengths[i] ?? 0)).buffer);
      if (this.#neighbours === undefined) continue;
      const frame = new Frame();
      const status = parseFrame(
        ...([batch.bytes, batch.view, start, start + (batch.lengths[i] ?? 0), Medium.Ethernet, frame] as const),
      );
      this.#neighbours.handleFrame(this.#host.now(), frame, status);
      this.#host.wake();
    }
  }

  /** From now on ARP requests for `address` are answered; the answers are not counted. */
  answersFor(address: IpAddress): void {
    this.#neighbours = new Neighbours({ mac: EVIL_MAC, addresses: [IpPrefix.parse(`${address}/16`)] });
  }

  transmit(writer: FrameWriter): boolean {
    const now = this.#host.now();
    this.#neighbours?.poll(now, writer);
    for (const flood of this.#floods) {
      while (flood.left > 0 && flood.at <= now) {
        if (writer.full) return true;
        const frame = flood.make(flood.index++);
        writer.appendRaw(frame, 0, frame.length);
        this.sent.frames += 1;
        this.sent.bytes += frame.length;
        flood.left -= 1;
        flood.at += flood.every;
      }
    }
    return false;
  }

  nextDeadline(): number {
    return this.#floods.reduce((next, { left, at }) => (left > 0 ? Math.min(next, at) : next), Infinity);
  }

  handleTimeouts(): void {
    this.#host.wake();
  }
}

export function attach(world: World): Flooder {
  return world.attach('attacker', (host) => new Flooder(host));
}

/** One of 30,000 on 10.0.0.0/16 who do not exist; `index` from 0 on. */
export function nobody(index: number): IpAddress {
  const n = index % 30_000;
  return new IpAddress(4, 0, 0, 0xff_ff, 0x0a_00_01_01 + 256 * (n >>> 7) + (n & 0x7f));
}

/** REQs to a port of `victim`, from addresses that the flooder chooses. */
export class SpoofedRequests {
  readonly #victim: { readonly address: IpAddress; readonly mac: Uint8Array };
  readonly #liar = new ConnectionManager({ random: new Prng(66), caGuid: 0x66n });
  readonly #port: number;
  #qpn = 16;

  constructor(victim: { readonly address: IpAddress; readonly mac: Uint8Array }, port: number) {
    this.#victim = victim;
    this.#port = port;
  }

  /** The frame of a REQ from `source`. */
  from(source: IpAddress): Uint8Array {
    const { address, mac } = this.#victim;
    this.#qpn += 1;
    const id = this.#liar.connect(0, {
      ...{ serviceId: rdmaServiceId(RdmaPortSpace.Tcp, this.#port), local: source, remote: address, localPort: 1 },
      ...{ qpn: this.#qpn, startingPsn: 0, mtu: 3, initiatorDepth: 1, responderResources: 1 },
      ...{ retryCount: 7, rnrRetryCount: 7, ackTimeout: 14 },
    });
    const mad = this.#liar.pollTransmit(0)?.bytes ?? new Uint8Array(0);
    this.#liar.destroy(0, id);
    while (this.#liar.pollTransmit(0) !== undefined);
    const template = new HeaderTemplate({
      ...{ medium: Medium.Ethernet, sourceMac: EVIL_MAC, destMac: mac, source, destination: address },
      ...{ trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 4791 },
    });
    const writer = new FrameWriter(1, 400);
    const bth = writer.begin(template);
    writeBth(writer.view, bth, Op.UdSendOnly, 0, 1, 0, 0xff_ff, 1, 0, 0);
    writeDeth(writer.view, bth + BTH_BYTES, GSI_QKEY, 1);
    writer.bytes.set(mad, bth + BTH_BYTES + 8);
    writer.end(template, bth + BTH_BYTES + 8 + mad.length);
    return writer.bytes.slice(0, writer.lengths[0] ?? 0);
  }
}

/** The frame of a SYN, or of another segment. */
export function segmentOf(
  victim: { readonly address: IpAddress; readonly mac: Uint8Array },
  source: IpAddress,
  ports: { readonly from: number; readonly to: number },
  { flags = TcpFlag.Syn as number, seq = 1000, ack = 0, data = new Uint8Array(0) } = {},
): Uint8Array {
  return segmentFrame(
    {
      ...{ sourceMac: EVIL_MAC, destMac: victim.mac, source, destination: victim.address },
      ...{ sourcePort: ports.from, destPort: ports.to },
    },
    { seq, ack, flags, window: 65_535, ...((flags & TcpFlag.Syn) === 0 ? {} : { mss: 1460 }), data },
  );
}
