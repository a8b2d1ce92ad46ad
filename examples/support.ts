/**
 * What several examples share and what is not about RDMA: where the two ends stand, and waiting for one completion.
 *
 * Without options both ends are devices on a simulated network in this process, in virtual time. With `--link` this
 * process is one end of a real wire: the server, or with `--connect ADDRESS` the client of a server in another process.
 */

import { parseArgs } from 'node:util';
import {
  attachDevice,
  openDevice,
  type RdmaCq,
  type RdmaDevice,
  WcStatus,
  type WorkCompletion,
  World,
  wcStatusName,
} from 'rocev2';
import { defined } from 'rocev2/packets';

export interface Ends {
  server(device: RdmaDevice): Promise<void>;
  /** @param address the server's */
  client(device: RdmaDevice, address: string): Promise<void>;
}

/** Runs both ends, or the one that the command line asks for. */
export async function runEnds({ server, client }: Ends): Promise<void> {
  const { link, ip, connect } = parseArgs({
    options: {
      link: { type: 'string' },
      ip: { type: 'string', multiple: true },
      connect: { type: 'string' },
    },
  }).values;
  if (link === undefined) {
    const world = new World({ seed: 1 });
    const here = attachDevice(world, 'client', { addresses: ['10.0.0.1/24'] });
    const there = attachDevice(world, 'server', { addresses: ['10.0.0.2/24'] });
    await world.run(Promise.all([server(there), client(here, '10.0.0.2')]));
    return;
  }
  const open = await openDevice({ link, ...defined({ addresses: ip }) });
  try {
    await (connect === undefined ? server(open.device) : client(open.device, connect));
  } finally {
    await open.close();
  }
}

/** The next completion of a queue; throws when the work failed. */
export async function completed(cq: RdmaCq): Promise<WorkCompletion> {
  const { done, value } = await cq.next();
  if (done === true) throw new Error('the device was closed');
  if (value.status !== WcStatus.Success) throw new Error(wcStatusName(value.status));
  return value;
}
