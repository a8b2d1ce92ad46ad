/**
 * A device that programs find at a socket, from opening it to closing it.
 */
import type { Device } from 'rocev2';
import { type ServedUverbs, serveUverbs } from 'rocev2/node';
import { createUverbsServer, type UverbsServer } from 'rocev2/uverbs';
import { type FaultFlags, typedFaults } from '../bump/fault-options.ts';
import { DEFAULT_DEVICE } from '../default-device.ts';
import { type LinkFlags, withDeviceHere } from '../options.ts';
import { terminal } from '../output.ts';

/** Options of a device and of faults on its wire. */
export type ServedFlags = Partial<LinkFlags> & FaultFlags;

/** Serves a device at `path` while `use` runs. */
export function withServer<T>(
  flags: ServedFlags,
  path: string,
  use: (served: ServedUverbs, device: Device, server: UverbsServer) => Promise<T>,
): Promise<T> {
  const lend = async (device: Device): Promise<T> => {
    const server = createUverbsServer(device);
    const served = await serveUverbs({ server, path, complain: terminal.complaint });
    try {
      return await use(served, device, server);
    } finally {
      served.close();
    }
  };
  return withDeviceHere(withLink(flags), lend, { faults: typedFaults(flags) });
}

function withLink(flags: ServedFlags): LinkFlags {
  return flags.link === undefined ? { ...flags, ...DEFAULT_DEVICE } : { ...flags, link: flags.link };
}
