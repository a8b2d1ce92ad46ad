/**
 * A third station beside two connected devices: it knows addresses, queue pair numbers and how an ICRC is made, reads
 * nothing of the wire, and forges packets in the name of one of the two. Owns the attacker, and the count of what the
 * honest two send meanwhile; what is forged, and how often, is the test's.
 */
import type { IpAddress } from '../../packets/address.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import type { FrameWriter } from '../../packets/frame-writer.ts';
import { buildFrame, type Packet } from '../../packets/kit/index.ts';
import { OpFlag } from '../../packets/opcode.ts';
import {
  attachDevice,
  type Device,
  type Host,
  type Machine,
  type Qp,
  QpState,
  type SimulatedDeviceOptions,
  World,
} from '../../src/index.ts';
import type { Random } from '../../transport/random.ts';
import { ALL, makeSide, type Side } from './support.ts';

export const FIRST_PSN = 0xff_ff_00;
const ATTACKERS_MAC = Uint8Array.of(2, 0, 0, 0, 0, 9);

/** Sends what it is given, and receives nothing. */
export class Attacker implements Machine {
  /** Frames sent so far. */
  sent = 0;
  readonly random: Random;
  readonly #host: Host;
  readonly #outbox: Uint8Array[] = [];

  constructor(host: Host, random: Random) {
    this.#host = host;
    this.random = random;
  }

  /** Any of the 2^24 PSNs. */
  anyPsn(): number {
    return this.random.u32() >>> 8;
  }

  /** Sends `packet` to `victim`'s queue pair as if `from` had. PSNs count from 0. */
  forge(packet: Packet, from: Device, victim: Device, qp: Qp, sourcePort = 0xc0_01): void {
    const route = {
      ...{ medium: Medium.Ethernet, sourceMac: ATTACKERS_MAC, destMac: victim.mac, sourcePort },
      ...{ source: addressOf(from), destination: addressOf(victim), trafficClass: 0, hopLimit: 64, flowLabel: 0 },
    };
    this.#outbox.push(buildFrame(packet, route, qp.qpn, 0));
    this.sent += 1;
    this.#host.wake();
  }

  receive(): void {}

  transmit(writer: FrameWriter): boolean {
    while (!writer.full) {
      const next = this.#outbox.shift();
      if (next === undefined) return false;
      writer.appendRaw(next, 0, next.length);
    }
    return this.#outbox.length > 0;
  }

  nextDeadline(): number {
    return Infinity;
  }

  handleTimeouts(): void {}
}

function addressOf({ addresses: [prefix] }: Device): IpAddress {
  if (prefix === undefined) throw new Error('a device has an address');
  return prefix.address;
}

/** How the wire and the devices are made. */
export interface TriangleOptions {
  /** Default 1024. */
  readonly mtu?: number;
  /** Bytes of each region; default 65,536. */
  readonly bytes?: number;
  /** Of every port; default 10 Gb/s. */
  readonly faults?: SimulatedDeviceOptions['faults'];
  /** Of the requester's device. */
  readonly requester?: Partial<SimulatedDeviceOptions>;
  /** Of the responder's device. */
  readonly responder?: Partial<SimulatedDeviceOptions>;
}

/** Requester, responder, attacker: 2 us apart. */
export class Triangle {
  readonly world: World;
  readonly requester: Device;
  readonly responder: Device;
  readonly left: Side;
  readonly right: Side;
  readonly attacker: Attacker;
  /** Frames that the honest two have sent, and their bytes. */
  frames = 0;
  bytes = 0;
  /** Called for each request packet that arrives at the responder. */
  onRequest: (() => void) | undefined;

  constructor({ bytes = 1 << 16, faults = { rateBps: 10e9 }, ...options }: TriangleOptions = {}) {
    const world = new World({ seed: 1, latencyNs: 2000, batchFrames: 4 });
    const open = (n: number, more: Partial<SimulatedDeviceOptions> = {}): Device =>
      attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/24`], mtu: 4200, faults, ...more });
    this.world = world;
    this.requester = open(1, options.requester);
    this.responder = open(2, options.responder);
    this.left = makeSide(this.requester, bytes);
    this.right = makeSide(this.responder, bytes);
    this.attacker = world.attach('attacker', (host, _port, random) => new Attacker(host, random), { mtu: 4200 });
    this.#watch();
  }

  async connect(mtu = 1024): Promise<this> {
    const { left, right, world } = this;
    const up = async ({ qp }: Side, peer: Side, to: Device): Promise<void> => {
      await qp.modify({ state: QpState.Init, access: ALL });
      const rtr = { destQpn: peer.qp.qpn, rqPsn: FIRST_PSN, mtu, maxDestRdAtomic: 16, minRnrTimer: 1 };
      await qp.modify({ state: QpState.Rtr, av: { destination: addressOf(to) }, ...rtr });
      await qp.modify({ state: QpState.Rts, sqPsn: FIRST_PSN, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 16 });
    };
    await world.run(Promise.all([up(left, right, this.responder), up(right, left, this.requester)]));
    this.frames = 0;
    this.bytes = 0;
    return this;
  }

  #watch(): void {
    const frame = new Frame();
    this.world.network.tap = {
      frame: (_now, port, direction, bytes, start, end) => {
        if (direction === 'out' && port.name !== 'attacker') {
          this.frames += 1;
          this.bytes += end - start;
        }
        if (direction !== 'in' || port.name !== 'device 2' || this.onRequest === undefined) return;
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const status = parseFrame(bytes, view, start, end, Medium.Ethernet, frame);
        if (status !== FrameStatus.Ok || (frame.flags & OpFlag.Response) !== 0) return;
        if (bytes[start + 11] === ATTACKERS_MAC[5]) return;
        this.onRequest();
      },
    };
  }
}
