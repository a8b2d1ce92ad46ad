/**
 * A device on a simulated network, with defaults that suit a simulation. The counterpart of `openDevice`, which opens
 * one on a real wire.
 */

import { IpPrefix, type MacAddress, parseMac } from '../../packets/address.ts';
import { defined } from '../../packets/defined.ts';
import type { CongestionOptions } from '../../transport/congestion/congestion-options.ts';
import type { Defences } from '../../transport/defences.ts';
import type { QpTrace } from '../../transport/trace.ts';
import { Device } from '../device/device.ts';
import type { DeviceLimits, PathTraits, StaticNeighbour, StrangerLimits, VlanOptions } from '../device/options.ts';
import type { PortOptions } from './network.ts';
import type { PortOptionsOf, World, WorldNetwork } from './world.ts';

/** A device in a simulated world, and its port: by default one of a `SimulatedNetwork`. */
export type SimulatedDeviceOptions<P extends object = PortOptions> = P & {
  /** Our addresses with their prefix lengths, `10.0.0.1/24`; at least one. */
  readonly addresses: readonly string[];
  /** Default: a locally administered one with the last byte of the first address. */
  readonly mac?: string;
  /** Default `DEFAULT_LIMITS`. */
  readonly limits?: Partial<DeviceLimits>;
  /** As in `DeviceOptions`, as are the next four. */
  readonly sourcePort?: number;
  /** Default header fields of packets. */
  readonly path?: PathTraits;
  /** Neighbours that are known beforehand. */
  readonly neighbours?: readonly StaticNeighbour[];
  /** The VLAN to be on. */
  readonly vlan?: VlanOptions;
  /** The implementation of the peer. */
  readonly peer?: string;
  /** Congestion control. */
  readonly congestion?: CongestionOptions;
  /** What queue pairs do about packets that no honest peer sends; default `DEFAULT_DEFENCES`. */
  readonly defences?: Partial<Defences>;
  /** Packets a queue pair may have sent and not seen acknowledged; default 128. */
  readonly maxUnacked?: number;
  /** What senders may cost that have proved nothing. */
  readonly strangers?: Partial<StrangerLimits>;
  /** Receives the decisions of queue pairs. */
  readonly trace?: QpTrace;
};

/** Attaches a device to the world's network under a name of its own. Throws as `World.attach` and `Device` do. */
export function attachDevice<N extends WorldNetwork>(
  world: World<N>,
  name: string,
  options: SimulatedDeviceOptions<PortOptionsOf<N>>,
): Device {
  const { addresses, mac, limits, sourcePort, path, neighbours, vlan, ...rest } = options;
  const { peer, congestion, defences, strangers, maxUnacked, trace, ...port } = rest;
  const prefixes = addresses.map((text) => IpPrefix.parse(text));
  return world.attach(
    name,
    (host, link, random) =>
      new Device({
        host,
        random,
        name,
        medium: link.medium,
        mac: mac === undefined ? macFor(prefixes) : parseMac(mac),
        addresses: prefixes,
        mtu: link.mtu,
        ...defined({ limits, sourcePort, path, neighbours, vlan, peer, congestion, defences, strangers, maxUnacked }),
        trace,
      }),
    // What is left of the options when those of the device are taken out; the compiler cannot follow that for any N.
    port as unknown as PortOptionsOf<N>,
  );
}

function macFor(prefixes: readonly IpPrefix[]): MacAddress {
  const last = (prefixes[0]?.address.w3 ?? 0) & 0xff;
  return Uint8Array.of(0x02, 0, 0, 0, 0, last);
}
