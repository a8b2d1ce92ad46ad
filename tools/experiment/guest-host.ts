/** A host that is a Linux guest with rdma_rxe: `tools/lab` boots it, its shell runs the commands. */

import { QemuLink } from 'rocev2/node';
import { RoceError } from 'rocev2/packets';
import { Guest } from '../lab/guest.ts';
import { buildImage } from '../lab/image.ts';
import type { ExperimentHost, RunningCommand } from './host.ts';
import { CablePort } from './port.ts';
import type { GuestSpec } from './types.ts';

/** Boots a guest whose cable is a Unix socket at `path`. Rejects as `buildImage` and `Guest.boot` do. */
export async function bootGuest(
  spec: GuestSpec & { readonly mac: string; readonly mtu: number },
  path: string,
  log: (line: string) => void,
): Promise<ExperimentHost> {
  const image = await buildImage(spec.kernel, { log });
  const port = await CablePort.open(new QemuLink({ path, mtu: spec.mtu }));
  try {
    const { addresses, mac, mtu } = spec;
    const guest = await Guest.boot({ image, netSocket: { path }, mac, addresses, mtu });
    return new GuestHost(guest, port);
  } catch (error) {
    await port.close();
    throw error;
  }
}

class GuestHost implements ExperimentHost {
  readonly port: CablePort;
  readonly description: string;
  readonly #guest: Guest;

  constructor(guest: Guest, port: CablePort) {
    this.#guest = guest;
    this.port = port;
    this.description = `Linux ${guest.release} with rdma_rxe, in a virtual machine`;
  }

  start(command: string): RunningCommand {
    const job = this.#guest.spawn(command);
    return {
      // The runner has a limit for every command; this one only bounds the life of the promise.
      ended: job.wait(LONGEST_COMMAND_MS),
      output: () => job.output(),
      interrupt: () => job.kill('TERM'),
      kill: () => job.kill('KILL'),
    };
  }

  async listening(port: number, timeoutMs: number): Promise<void> {
    const tries = Math.ceil(timeoutMs / 100);
    const tcp = `grep -q ':${hexOf(port)} [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6 2> /dev/null`;
    const rdma = `rdma resource show cm_id | grep LISTEN | grep -q ':${port} '`;
    const listens = `{ ${tcp} || ${rdma}; }`;
    const { code } = await this.#guest.run(
      `for i in $(seq ${tries}); do ${listens} && exit 0; sleep 0.1; done; exit 1`,
      // Each look takes time too, on a processor that is emulated.
      { timeoutMs: timeoutMs * 2 },
    );
    if (code !== 0) throw new RoceError('ERR_ROCE_TIMEOUT', `no listener on port ${port}`);
  }

  rates(): readonly [] {
    return [];
  }

  counters(): Readonly<Record<string, number>> {
    return {};
  }

  async stop(): Promise<void> {
    await this.#guest.stop();
    await this.port.close();
  }
}

/** As the kernel's tables of sockets have ports. */
function hexOf(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

const LONGEST_COMMAND_MS = 3_600_000;
