/** What TCP needs of a device: its addresses, its neighbours, its clock. Owns the adapter and nothing else. */
import { Medium } from '../../packets/frame.ts';
import { vlanTci } from '../../packets/vlan.ts';
import type { Device } from '../device.ts';
import type { Host } from '../machine.ts';
import { TcpStack } from './stack.ts';

/** The TCP of a device on an Ethernet link; undefined on the IP medium, where the kernel answers for the addresses. */
export function tcpOf(device: Device, host: Host): TcpStack | undefined {
  const { medium, mac, vlan, linkMtu, random, paths } = device;
  if (medium !== Medium.Ethernet) return undefined;
  return new TcpStack({
    mac,
    vlanTci: vlan === undefined ? undefined : vlanTci(vlan.id, vlan.priority ?? 0),
    mtu: linkMtu,
    random,
    now: () => host.now(),
    wake: () => host.wake(),
    isOurs: (address) => paths.isOurs(address),
    isHost: (address) => paths.hosts.isHost(address),
    sourceFor: (destination) => paths.sourceFor(destination),
    nextHopMac: (now, destination) => {
      const { neighbours } = paths;
      const mac = neighbours?.lookup(destination);
      const hop = neighbours?.nextHop(destination);
      if (mac === undefined) neighbours?.resolve(now, destination);
      else if (hop !== undefined) neighbours?.use(now, hop);
      return mac;
    },
    resolve: (destination) => device.resolve(destination),
  });
}
