/** Two devices of our own and a bump in virtual time: a fresh world for every scenario, over in milliseconds. */

import { attachDevice, type Device, World } from 'rocev2';
import { BumpWire } from '../../bump/virtual-wire.ts';
import { runWorld } from '../duts/run-world.ts';
import { inProcessHostControl } from '../host-control/in-process.ts';
import type { TestbedEnd, TestbedFactory, TrafficTestbed } from './stage.ts';
import type { TrafficEnd } from './trace.ts';

/** Our own stack at both ends. */
export function inProcessTestbeds(seed: number): TestbedFactory {
  return {
    open: async (rules) => {
      const network = new BumpWire({ seed, rules, mtu: MTU, faults: { aToB: LINE, bToA: LINE } });
      const world = new World({ seed, network });
      const device = (name: TrafficEnd, index: 0 | 1): Device =>
        attachDevice(world, name, {
          addresses: SUBNETS.map(([prefix, bits]) => `${prefix}${index + 1}/${bits}`),
          congestion: { notification: { minTimeBetweenCnpsNs: MIN_TIME_BETWEEN_CNPS_NS } },
        });
      const devices = { a: device('a', 0), b: device('b', 1) };
      const ends = { a: endOf(devices.a), b: endOf(devices.b) };
      const stage: TrafficTestbed = {
        ends,
        live: false,
        run: (promise) => runWorld(world, promise, 'the scenario'),
        sleep: (durationNs) => world.sleep(durationNs),
        finish: async () => {
          for (const name of ['a', 'b'] as const) {
            await ends[name].hostControl.close();
            devices[name].close();
          }
          return network.capture();
        },
      };
      return stage;
    },
    close: async () => {},
  };
}

function endOf(device: Device): TestbedEnd {
  return {
    device: 'rocev2',
    version: '',
    hostControl: inProcessHostControl(device, { cnp: true }),
    addresses: device.addresses.map(({ address }, gidIndex) => ({ address: `${address}`, gidIndex })),
    minTimeBetweenCnpsNs: MIN_TIME_BETWEEN_CNPS_NS,
  };
}

const MTU = 1500;
const SUBNETS = [
  ['192.0.2.', 24],
  ['2001:db8::', 64],
] as const;
/** A microsecond of cable, and 10 Gb/s. */
const LINE = { delayNs: 1_000, rateBps: 10e9 };
const MIN_TIME_BETWEEN_CNPS_NS = 50_000;
