/** What TCP needs of a device: its addresses, its neighbours, its clock. Owns the adapter and nothing else. */

import type { IpAddress, MacAddress } from '../../../../packets/address.ts';
import { Medium } from '../../../../packets/frame.ts';
import { vlanTci } from '../../../../packets/vlan.ts';
import type { Random } from '../../../../transport/random.ts';
import type { Host } from '../../../ground/machine.ts';
import type { StrangerLimits, VlanOptions } from '../../options.ts';
import type { Paths } from '../../paths.ts';
import { TcpStack } from './stack.ts';
import type { TcpHost, TcpSuspicion } from './tcp-host.ts';

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
  disturb(): void;
}

/** The TCP of a device on an Ethernet link; undefined on the IP medium, where the kernel owns the addresses. */
export function tcpOf(device: TcpDevice, host: Host): TcpStack | undefined {
  return device.medium === Medium.Ethernet ? new TcpStack(new DeviceHost(device, host)) : undefined;
}

class DeviceHost implements TcpHost {
  readonly mac: MacAddress;
  readonly vlanTci: number | undefined;
  readonly mtu: number;
  readonly random: Random;
  readonly limits: StrangerLimits;
  readonly #device: TcpDevice;
  readonly #host: Host;

  constructor(device: TcpDevice, host: Host) {
    const { vlan } = device;
    this.mac = device.mac;
    this.vlanTci = vlan === undefined ? undefined : vlanTci(vlan.id, vlan.priority ?? 0);
    this.mtu = device.linkMtu;
    this.random = device.random;
    this.limits = device.strangers;
    this.#device = device;
    this.#host = host;
  }

  now(): number {
    return this.#host.now();
  }

  wake(): void {
    this.#device.disturb();
    this.#host.wake();
  }

  isOurs(address: IpAddress): boolean {
    return this.#device.paths.isOurs(address);
  }

  isHost(address: IpAddress): boolean {
    return this.#device.paths.hosts.isHost(address);
  }

  sourceFor(destination: IpAddress): IpAddress {
    return this.#device.paths.sourceFor(destination);
  }

  knownMac(destination: IpAddress): MacAddress | undefined {
    return this.#device.paths.neighbours?.lookup(destination);
  }

  nextHopMac(now: number, destination: IpAddress, forStranger: boolean): MacAddress | undefined {
    const { neighbours } = this.#device.paths;
    const mac = neighbours?.lookup(destination);
    const hop = neighbours?.nextHop(destination);
    if (mac === undefined) neighbours?.resolve(now, destination, forStranger ? 'answer' : 'own');
    else if (hop !== undefined) neighbours?.use(now, hop);
    return mac;
  }

  resolve(destination: IpAddress): Promise<void> {
    return this.#device.resolve(destination);
  }

  suspect(cause: TcpSuspicion, address: IpAddress, port: number): void {
    this.#device.suspicions.byAddress(this.#host.now(), cause, 1, address, port);
  }
}
