/**
 * A device that programs find at a socket, from opening it to closing it. Owns which device that is where no link is
 * named.
 */
import type { Device } from 'rocev2';
import { type ServedUverbs, serveUverbs } from 'rocev2/node';
import { createUverbsServer } from 'rocev2/uverbs';
import { type FaultFlags, typedFaults } from '../bump/fault-options.ts';
import { type LinkFlags, withDeviceHere } from '../options.ts';

/** Options of a device and of faults on its wire. */
export type ServedFlags = Partial<LinkFlags> & FaultFlags;

/** Serves a device at `path` while `use` runs. */
export function withServer<T>(
  flags: ServedFlags,
  path: string,
  use: (served: ServedUverbs, device: Device) => Promise<T>,
): Promise<T> {
  const lend = async (device: Device): Promise<T> => {
    const served = await serveUverbs({ server: createUverbsServer(device), path });
    try {
      return await use(served, device);
    } finally {
      served.close();
    }
  };
  return withDeviceHere(withLink(flags), lend, { faults: typedFaults(flags) });
}

function withLink(flags: ServedFlags): LinkFlags {
  return flags.link === undefined ? { ...flags, ...DEFAULT_DEVICE } : { ...flags, link: flags.link };
}

/** Where no link is named: the addresses that `localhost` means as well, and the link-local one that GID 0 is. */
const DEFAULT_DEVICE = {
  link: 'loopback:10.0.0.1/24+fd00::1/64+127.0.0.1/8+::1/128+fe80::aff:fe00:1/64',
  mac: '02:00:0a:00:00:01',
};
