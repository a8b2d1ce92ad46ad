/**
 * Our own stack as the device under test: a device and the tester's station on a simulated wire, in virtual time. A
 * fresh world for each.
 */

import { attachDevice, type Device, World } from 'rocev2';
import { IpAddress, IpPrefix } from 'rocev2/packets';
import type { Feature, HostControl } from '../host-control/host-control.ts';
import { inProcessHostControl } from '../host-control/in-process.ts';
import type { Dut } from '../tester/dut.ts';
import { TesterStation } from '../tester/station.ts';
import { type LimitedDevice, noteOnTheWire } from './limited.ts';
import { limitedHostControl, notingHostControl } from './limited-host-control.ts';
import { runWorld } from './run-world.ts';

export interface InProcessDutOptions {
  readonly seed: number;
  /** The device sends and obeys congestion notifications; default yes. */
  readonly congestion?: boolean;
  /** What it lacks, or does otherwise than ours. */
  readonly limited?: LimitedDevice;
  /** Receives every feature that a case asks about, or uses by verbs or on the wire. */
  readonly note?: (feature: Feature) => void;
}

/** A device of ours under test. */
export class InProcessDut implements Dut {
  readonly name = 'in-process';
  readonly device = 'rocev2';
  readonly version = '';
  readonly addresses;
  readonly targetPort = 7471;
  readonly patienceNs = 50e6;
  readonly quietNs = 1e6;
  readonly pollNs = 20e3;
  readonly virtual = true;
  readonly throwAway = true;
  readonly gone = undefined;
  readonly #seed: number;
  readonly #options: InProcessDutOptions;
  #world: World;
  #device: Device;
  #station: TesterStation;
  #hostControl: HostControl;
  #made = 0;

  constructor(options: InProcessDutOptions) {
    this.#options = options;
    this.#seed = options.seed;
    const parts = this.#make();
    this.#world = parts.world;
    this.#device = parts.device;
    this.#station = parts.station;
    this.#hostControl = parts.hostControl;
    this.addresses = pairsOf(options).map(([theirs, ours], gidIndex) => ({
      address: IpAddress.parse(theirs),
      ours: IpAddress.parse(ours),
      gidIndex,
    }));
  }

  get station(): TesterStation {
    return this.#station;
  }

  get hostControl(): HostControl {
    return this.#hostControl;
  }

  get features(): readonly Feature[] {
    return this.#hostControl.description.features;
  }

  /** The device itself, for what only a test of our own asks. */
  get ours(): Device {
    return this.#device;
  }

  /** Steps of the world so far: how much a case takes. */
  get steps(): number {
    return this.#world.steps;
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return runWorld(this.#world, promise, 'the case');
  }

  async renew(): Promise<void> {
    await this.close();
    const parts = this.#make();
    this.#world = parts.world;
    this.#device = parts.device;
    this.#station = parts.station;
    this.#hostControl = parts.hostControl;
  }

  async close(): Promise<void> {
    await this.#hostControl.close();
    this.#device.close();
  }

  #make(): { world: World; device: Device; station: TesterStation; hostControl: HostControl } {
    // A wire with a rate: a long answer takes time, and a case can act while it streams.
    const world = new World({ seed: this.#seed + this.#made++, faults: { rateBps: 100e9 } });
    const { limited } = this.#options;
    const { lacks = [], limits = {}, mtu = 4200 } = limited ?? {};
    const congestion = this.#options.congestion !== false && !lacks.includes('cnp');
    const device = attachDevice(world, 'dut', {
      addresses: pairsOf(this.#options).map(([theirs, , bits]) => `${theirs}/${bits}`),
      ...{ mtu, limits },
      ...(congestion
        ? { congestion: { notification: { cnpDscp: CNP_DSCP }, reaction: { kind: 'dcqcn', profile: 'mlx' } } }
        : {}),
    });
    limited?.alter?.(device);
    const station = world.attach(
      'tester',
      (host, link) =>
        new TesterStation({
          host,
          medium: link.medium,
          mac: Uint8Array.of(0x02, 0, 0, 0, 0, 0x99),
          addresses: PAIRS.map(([, ours, bits]) => IpPrefix.parse(`${ours}/${bits}`)),
        }),
      // More than the device may send: what is too long is to be seen.
      { mtu: 9000 },
    );
    const whole = inProcessHostControl(device, { cnp: congestion, ...(congestion ? { cnpDscp: CNP_DSCP } : {}) });
    const less = limited === undefined ? whole : limitedHostControl(whole, { lacks, limits });
    const { note } = this.#options;
    if (note !== undefined) noteOnTheWire(device, note);
    const hostControl = note === undefined ? less : notingHostControl(less, note);
    return { world, device, station, hostControl };
  }
}

/** The usual one (ref:dcqcn#2). */
const CNP_DSCP = 48;

/** Addresses of the device and of ours, and the length of their prefix. */
const PAIRS = [
  ['192.0.2.1', '192.0.2.2', 24],
  ['2001:db8::1', '2001:db8::2', 64],
] as const;

const pairsOf = ({ limited }: InProcessDutOptions): readonly (typeof PAIRS)[number][] =>
  PAIRS.filter(([, , bits]) => limited?.ipVersion !== (bits === 24 ? 6 : 4));
