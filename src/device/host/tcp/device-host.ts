/** What TCP needs of a device: its addresses, its neighbours, its clock. Owns the adapter and nothing else. */

import type { IpAddress, MacAddress } from '../../../../packets/address.ts';
import { Medium } from '../../../../packets/frame.ts';
import { vlanTci } from '../../../../packets/vlan.ts';
import type { Random } from '../../../../transport/random.ts';
import type { Host } from '../../../ground/machine.ts';
import type { StrangerLimits, VlanOptions } from '../../options.ts';
import type { Paths } from '../../paths.ts';
import { TcpStack } from './stack.ts';
import type { TcpSuspicion } from './tcp-host.ts';

/** What TCP needs of the device. */
export interface TcpDevice {
  readonly medium: Medium;
  readonly mac: MacAddress;
  readonly vlan: VlanOptions | undefined;
  readonly linkMtu: number;
  readonly random: Random;
  readonly paths: Pick<Paths, 'hosts' | 'isOurs' | 'neighbours' | 'sourceFor'>;
  readonly strangers: StrangerLimits;
  readonly suspicions: {
    byAddress(now: number, cause: TcpSuspicion, times: number, address: IpAddress, port: number): void;
  };
  resolve(address: IpAddress): Promise<void>;
}

/** The TCP of a device on an Ethernet link; undefined on the IP medium, where the kernel owns the addresses. */
export function tcpOf(device: TcpDevice, host: Host): TcpStack | undefined {
  const { medium, mac, vlan, linkMtu, random, paths } = device;
  if (medium !== Medium.Ethernet) return undefined;
  return new TcpStack({
    mac,
    vlanTci: vlan === undefined ? undefined : vlanTci(vlan.id, vlan.priority ?? 0),
    mtu: linkMtu,
    random,
    limits: device.strangers,
    now: () => host.now(),
    wake: () => host.wake(),
    isOurs: (address) => paths.isOurs(address),
    isHost: (address) => paths.hosts.isHost(address),
    sourceFor: (destination) => paths.sourceFor(destination),
    knownMac: (destination) => paths.neighbours?.lookup(destination),
    nextHopMac: (now, destination, forStranger) => {
      const { neighbours } = paths;
      const mac = neighbours?.lookup(destination);
      const hop = neighbours?.nextHop(destination);
      if (mac === undefined) neighbours?.resolve(now, destination, forStranger ? 'answer' : 'own');
      else if (hop !== undefined) neighbours?.use(now, hop);
      return mac;
    },
    resolve: (destination) => device.resolve(destination),
    suspect: (cause, address, port) => device.suspicions.byAddress(host.now(), cause, 1, address, port),
  });
}
