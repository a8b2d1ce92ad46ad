/**
 * The simulated network that scenes run on: hosts with the real stack, faults on their links, and a capture.
 *
 * Owns hosts, connections and vantage points. A vantage point is a host, whose frames are captured as they leave and
 * arrive there, or 'mirror', which captures what arrives at any host: a lost frame is captured only at the host that
 * sent it. Reads no clock.
 *
 * ```ts
 * const capture = await play({ vantages: ['A'] }, async (stage) => {
 *   const pair = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
 *   stage.rule({ port: 'A', match: (frame) => frame.opcode === Op.SendOnly, nth: 2, action: 'drop' });
 *   pair.b.receive(2);
 *   await pair.a.send(100);
 *   await pair.a.send(100);
 * });
 * ```
 */

import { attachDevice, type Connection, type SimulatedDeviceOptions, World } from 'rocev2';
import type { FaultSpec } from 'rocev2/faults';
import { defined, type IpAddress, invariant } from 'rocev2/packets';
import { ETHERNET_BYTES } from 'rocev2/packets/network';
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import { Fate, type FaultRule, type SimulatedPort } from 'rocev2/sim';
import { QpState, type WcStatus } from 'rocev2/transport';
import { ALL_ACCESS, type Host, StageEnd } from './end.ts';
import { station, tcpFrame } from './forge.ts';

/** How a stage is built. */
export interface StageOptions {
  /** Default 1. */
  readonly seed?: number;
  /** From host to host, nanoseconds; default 3,000. */
  readonly latencyNs?: number;
  /** Of every wire, bits per second; default 10e9. */
  readonly rateBps?: number;
  /** Names of hosts, or 'mirror'; each is an interface of the capture. Default the host A. */
  readonly vantages?: readonly string[];
  /** Frames that the capture takes, by the vantage that sees them; default all. */
  readonly keep?: (seen: StageFrame) => boolean;
  /** Writes whether a frame came or went, as captures of a host may. Default false. */
  readonly directions?: boolean;
  /** Bytes kept of a frame; default all. */
  readonly snapLength?: number;
}

/** A frame at a vantage point. */
export interface StageFrame {
  readonly vantage: string;
  /** The host that sends it, or at which it arrives; empty for one made by hand. */
  readonly host: string;
  readonly direction: 'out' | 'in';
  /** Nanoseconds since the stage was built. */
  readonly timeNs: number;
  readonly bytes: Uint8Array;
}

/** A host of the stage, beyond its name. */
export type HostOptions = Partial<SimulatedDeviceOptions>;

/** How two queue pairs are made one connection. */
export interface ConnectOptions {
  /**
   * Through the connection managers, whose messages are in the capture; otherwise as over a TCP socket that the capture
   * lacks. Default false.
   */
  readonly cm?: boolean;
  /** Which of a host's addresses: 4 or 6; default 4. */
  readonly ipVersion?: 4 | 6;
  /** Path MTU of both ends; default 1024. */
  readonly mtu?: number;
  /** Path MTU of B where it is another one. Not with `cm`. */
  readonly mtuB?: number;
  /** Local ACK timeout code n, 4.096 us * 2^n; default 8: 1 ms. */
  readonly timeout?: number;
  /** Default 7. */
  readonly retryCnt?: number;
  /** Default 7, which is infinite. */
  readonly rnrRetry?: number;
  /** RNR timer code of both ends; default 6: 80 us. */
  readonly minRnrTimer?: number;
  /** READs and atomics that an end has outstanding, and that the other answers; default 16. */
  readonly maxRdAtomic?: number;
  readonly maxDestRdAtomic?: number;
  /** First PSNs of A and B; default 100 and 200. Not with `cm`, where they are chosen at random. */
  readonly psns?: readonly [number, number];
  /** Remote access that the queue pairs allow; default all. Not with `cm`. */
  readonly access?: number;
  /** Traffic class, source port, and flow label of both ends. */
  readonly trafficClass?: number;
  readonly sourcePort?: number;
  readonly flowLabel?: number;
}

/** A connection. */
export interface ConnectedPair {
  readonly a: StageEnd;
  readonly b: StageEnd;
  /** With `cm`: the active end's. */
  readonly connection: Connection | undefined;
}

/** See the top of this file. */
export class Stage {
  readonly world: World;
  readonly #options: StageOptions;
  readonly #writer: PcapngWriter;
  /** Interface of the capture by vantage. */
  readonly #interfaces = new Map<string, number>();
  readonly #hosts = new Map<string, Host>();

  /** A stage without hosts. */
  constructor(options: StageOptions = {}) {
    const { seed = 1, latencyNs = 3_000, rateBps = 10e9, vantages = ['A'], snapLength = 0 } = options;
    this.#options = options;
    // A queue of one byte: a frame leaves when the one before it has left, and has a time of its own.
    this.world = new World({ seed, latencyNs, faults: { rateBps, queueBytes: 1 }, batchFrames: 1 });
    this.#writer = new PcapngWriter({ application: 'roce symptoms' });
    for (const name of vantages) {
      this.#interfaces.set(name, this.#writer.addInterface({ name, linkType: LinkType.Ethernet, snapLength }));
    }
    this.world.network.tap = {
      frame: (now, port, direction, bytes, start, end, fate) =>
        this.#frame(now, port, direction, bytes.subarray(start, end), fate),
    };
  }

  /**
   * Adds a host with 10.0.0.n/24, fd00::n/64 and MAC 02:00:00:00:00:0n, where n counts the hosts from 1; link MTU 4200.
   */
  host(name: string, options: HostOptions = {}): Host {
    const n = this.#hosts.size + 1;
    const device = attachDevice(this.world, name, {
      addresses: [`10.0.0.${n}/24`, `fd00::${n}/64`],
      mac: `02:00:00:00:00:${n.toString(16).padStart(2, '0')}`,
      mtu: 4200,
      ...options,
    });
    const addresses = device.addresses.map(({ address }) => address);
    const host = { name, device, addresses, mac: Uint8Array.of(2, 0, 0, 0, 0, n) };
    this.#hosts.set(name, host);
    return host;
  }

  /** A queue pair of a host, not connected, with memory that a peer may use. */
  end(host: Host, memoryBytes?: number): StageEnd {
    return new StageEnd(host, memoryBytes);
  }

  /** Makes a queue pair on each host and connects them. */
  async connect(a: Host, b: Host, options: ConnectOptions = {}): Promise<ConnectedPair> {
    const left = this.end(a);
    const right = this.end(b);
    const connection = options.cm === true ? await this.#introduce(left, right, options) : undefined;
    if (options.cm !== true) {
      const { mtu = 1024, mtuB = mtu, psns = [100, 200] } = options;
      await Promise.all([
        this.bringUp(left, right, { ...options, mtu, psns }),
        this.bringUp(right, left, { ...options, mtu: mtuB, psns: [psns[1], psns[0]] }),
      ]);
    }
    return { a: left, b: right, connection };
  }

  /**
   * Brings one end to RTS towards a peer, or towards a number and an address that may not exist.
   *
   * @param psns starting PSNs of this end and of the peer
   */
  async bringUp(
    end: StageEnd,
    peer: { readonly qpn: number; readonly addresses: readonly IpAddress[] },
    options: ConnectOptions = {},
  ): Promise<void> {
    const { ipVersion = 4, mtu = 1024, timeout = 8, retryCnt = 7, rnrRetry = 7, minRnrTimer = 6 } = options;
    const { maxRdAtomic = 16, maxDestRdAtomic = 16, psns = [100, 200], access = ALL_ACCESS } = options;
    const { trafficClass, sourcePort, flowLabel } = options;
    const destination = peer.addresses.find(({ version }) => version === ipVersion);
    if (destination === undefined) throw new TypeError(`the peer has no IPv${ipVersion} address`);
    const traits = {
      ...defined({ trafficClass, sourcePort, flowLabel }),
    };
    const { qp } = end;
    await qp.modify({ state: QpState.Init, access });
    const av = { destination, ...traits };
    await qp.modify({ state: QpState.Rtr, av, destQpn: peer.qpn, rqPsn: psns[1], mtu, maxDestRdAtomic, minRnrTimer });
    await qp.modify({ state: QpState.Rts, sqPsn: psns[0], timeout, retryCnt, rnrRetry, maxRdAtomic });
  }

  /** Lets something go wrong on a wire: by default between the port and the network ('send'). */
  rule(rule: FaultRule): { end(): void } {
    const active = this.world.network.addRule(rule);
    return { end: () => this.world.network.removeRule(active) };
  }

  /** Faults by chance on all that a host sends, or that arrives at it; the rate stays. */
  faults(host: Host, faults: FaultSpec, direction: 'send' | 'receive' = 'send'): void {
    const { rateBps = 10e9 } = this.#options;
    const rate = direction === 'send' ? { rateBps, queueBytes: 1 } : {};
    this.world.network.port(host.name)?.setFaults({ ...rate, ...faults }, direction);
  }

  /** Unplugs a host: no frame from it or to it arrives. Other vantage points see it fall silent. */
  unplug(host: Host): void {
    for (const direction of ['send', 'receive'] as const) {
      this.rule({ port: host.name, direction, match: () => true, action: 'drop' });
    }
  }

  /** Resolves when so much time has passed. */
  sleep(durationNs: number): Promise<void> {
    return this.world.sleep(durationNs);
  }

  /** Puts a frame made by hand into the capture, now, without sending it anywhere. Default vantage: the first. */
  forge(bytes: Uint8Array, vantage?: string, direction: Direction = Direction.Unknown): void {
    const name = vantage ?? [...this.#interfaces.keys()][0] ?? '';
    const index = this.#interfaces.get(name);
    const seen = { vantage: name, host: '', direction: 'in', timeNs: this.world.now, bytes } as const;
    if (index === undefined || this.#options.keep?.(seen) === false) return;
    this.#write(index, this.world.now, bytes, direction);
  }

  /** Lets time pass and puts an unrelated frame into the capture, which shows that the capture went on. */
  async goOn(durationNs: number): Promise<void> {
    await this.sleep(durationNs);
    for (const vantage of this.#interfaces.keys()) this.forge(tcpFrame(station(8), station(9), 22, 50_022), vantage);
  }

  /** Forges frames that follow each other at a distance. */
  async forgeAll(frames: readonly Uint8Array[], distanceNs = 10_000, vantage?: string): Promise<void> {
    for (const bytes of frames) {
      this.forge(bytes, vantage);
      await this.sleep(distanceNs);
    }
  }

  /** The capture; call once. */
  takeCapture(): Uint8Array {
    return this.#writer.take();
  }

  async #introduce(left: StageEnd, right: StageEnd, options: ConnectOptions): Promise<Connection> {
    const { ipVersion = 4, mtu = 1024, timeout = 8, retryCnt = 7, rnrRetry = 7, minRnrTimer = 6 } = options;
    const { maxRdAtomic = 16, maxDestRdAtomic = 16 } = options;
    const address = right.addresses.find(({ version }) => version === ipVersion);
    if (address === undefined) throw new TypeError(`the peer has no IPv${ipVersion} address`);
    const listener = right.host.device.cm.listen(CM_PORT);
    const common = { rnrRetryCount: rnrRetry, minRnrTimer, ackTimeout: timeout, initiatorDepth: maxRdAtomic };
    const tunables = {
      ...common,
      responderResources: maxDestRdAtomic,
      ...defined({ trafficClass: options.trafficClass }),
    };
    const accepted = listener.next().then(({ value }) => value?.accept({ qp: right.qp, ...tunables }));
    const connection = await left.host.device.cm.connect({
      address,
      port: CM_PORT,
      qp: left.qp,
      mtu,
      retryCount: retryCnt,
      ...tunables,
    });
    await accepted;
    listener.close();
    return connection;
  }

  #frame(now: number, port: SimulatedPort, direction: 'out' | 'in', bytes: Uint8Array, fate: number): void {
    // What the wire took does not arrive; a host still sees itself send it.
    if (direction === 'in' && (fate & Fate.Dropped) !== 0) return;
    const which = direction === 'out' ? Direction.Outbound : Direction.Inbound;
    const own = this.#interfaces.get(port.name);
    if (own !== undefined) this.#offer(port.name, own, now, port.name, direction, bytes, which);
    const mirror = this.#interfaces.get('mirror');
    if (mirror === undefined || direction === 'out' || !this.#isFor(port.name, bytes)) return;
    this.#offer('mirror', mirror, now, port.name, direction, bytes, Direction.Unknown);
  }

  #offer(
    vantage: string,
    index: number,
    timeNs: number,
    host: string,
    direction: 'out' | 'in',
    bytes: Uint8Array,
    which: Direction,
  ): void {
    if (this.#options.keep?.({ vantage, host, direction, timeNs, bytes }) === false) return;
    this.#write(index, timeNs, bytes, this.#options.directions === true ? which : Direction.Unknown);
  }

  /** A broadcast arrives everywhere; the mirror shows it once, at the first host but the sender. */
  #isFor(host: string, bytes: Uint8Array): boolean {
    if (bytes.length < ETHERNET_BYTES || ((bytes[0] ?? 0) & 1) === 0) return true;
    const sender = bytes[11];
    const [first] = [...this.#hosts.values()].filter(({ mac }) => mac[5] !== sender);
    return first?.name === host;
  }

  #write(index: number, timeNs: number, bytes: Uint8Array, direction: Direction): void {
    const seconds = EPOCH_SECONDS + Math.floor(timeNs / 1e9);
    this.#writer.packet(index, bytes, 0, bytes.length, seconds, timeNs % 1e9, { direction });
  }
}

/** A scene in which something else happens than it is about shows nothing. */
export function demandStatus(status: WcStatus, expected: WcStatus): void {
  invariant(status === expected, `a request of the scene ends with status ${expected}, not with ${status}`);
}

/** 2026-01-01, so that times in the capture look like times. */
const EPOCH_SECONDS = 1_767_225_600;
const CM_PORT = 7471;
