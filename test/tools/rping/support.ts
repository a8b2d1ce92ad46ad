/** Devices in a simulated world, and rping between them. */

import { Device, type DeviceOptions, IpAddress, IpPrefix, Medium, parseMac, World } from '../../../src/index.ts';
import type { WorldOptions } from '../../../src/sim/world.ts';
import type { ToolOutput } from '../../../tools/output.ts';

/** What was printed, in order. */
export class Transcript implements ToolOutput {
  readonly lines: string[] = [];
  readonly complaints: string[] = [];

  line(text: string): void {
    this.lines.push(text);
  }

  complaint(text: string): void {
    this.complaints.push(text);
  }
}

export const SERVER = IpAddress.parse('10.0.0.1');
export const SERVER_V6 = IpAddress.parse('fd00::1');
export const PORT = 7174;

/** Device number `n` of a world, at 10.0.0.n and fd00::n. */
export function addDevice(world: World, n: number, options: Partial<DeviceOptions> = {}): Device {
  return world.attach(`device ${n}`, (host, port, random) => {
    return new Device({
      host,
      random,
      medium: port.medium,
      mac: parseMac(`02:00:00:00:00:0${n}`),
      addresses: [IpPrefix.parse(`10.0.0.${n}/24`), IpPrefix.parse(`fd00::${n}/64`)],
      mtu: port.mtu,
      ...options,
    });
  });
}

export function makeWorld(options: Partial<WorldOptions> = {}): World {
  return new World({ seed: 1, medium: Medium.Ethernet, ...options });
}
