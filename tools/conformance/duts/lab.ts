/**
 * Linux rdma_rxe as the device under test: a guest of the lab, the agent in it, and our station at the other end of its
 * cable. A guest that dies is exchanged for a fresh one at the same wire; the last line of its kernel is the reason.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QemuLink } from 'rocev2/node';
import { IpAddress, IpPrefix, parseMac, RoceError } from 'rocev2/packets';
import { Guest } from '../../lab/guest.ts';
import { buildImage } from '../../lab/image.ts';
import { labAvailable } from '../../lab/probe.ts';
import type { KernelLabel } from '../../lab/recipe.ts';
import { startAgent } from '../agent/in-guest.ts';
import { AgentClient } from '../host-control/client.ts';
import type { Feature } from '../host-control/host-control.ts';
import type { Dut, DutAddress } from '../tester/dut.ts';
import type { TesterStation } from '../tester/station.ts';
import { type OpenStation, openStation } from './live.ts';

export interface LabDutOptions {
  readonly kernel: KernelLabel;
  readonly log?: (line: string) => void;
}

export class LabDut implements Dut {
  readonly name: string;
  readonly device = 'rxe';
  readonly version: string;
  readonly addresses: readonly DutAddress[];
  readonly targetPort = 7471;
  // The processor is emulated and shared: what is quick on other devices may take a second here.
  readonly patienceNs = 3e9;
  readonly quietNs = 150e6;
  readonly pollNs = 2e6;
  readonly virtual = false;
  readonly throwAway = true;
  readonly #options: LabDutOptions;
  readonly #directory: string;
  readonly #open: OpenStation;
  #guest: Guest;
  #hostControl: AgentClient;
  #gone: string | undefined;

  private constructor(options: LabDutOptions, directory: string, open: OpenStation, host: LabHost) {
    this.#options = options;
    this.#directory = directory;
    this.#open = open;
    this.#guest = host.guest;
    this.#hostControl = host.hostControl;
    this.name = `lab:${options.kernel}`;
    this.version = options.kernel;
    this.addresses = addressesOf(host.hostControl);
    this.#watch(host.guest);
  }

  /**
   * Boots a guest and starts the agent. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE where there can be none, and as
   * `Guest.boot`
   */
  static async open(options: LabDutOptions): Promise<LabDut> {
    const lab = labAvailable();
    if (!lab.ok) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', lab.reason);
    const directory = await mkdtemp(join(tmpdir(), 'roce-dut-'));
    const path = join(directory, 'wire');
    const open = await openStation(new QemuLink({ path, mtu: MTU }), {
      mac: parseMac(OUR_MAC),
      addresses: PAIRS.map(([, ours, bits]) => IpPrefix.parse(`${ours}/${bits}`)),
    });
    try {
      return new LabDut(options, directory, open, await bootHost(options, path));
    } catch (error) {
      await open.close();
      await rm(directory, { recursive: true });
      throw error;
    }
  }

  get station(): TesterStation {
    return this.#open.station;
  }

  get hostControl(): AgentClient {
    return this.#hostControl;
  }

  get features(): readonly Feature[] {
    return this.#hostControl.description.features;
  }

  get gone(): string | undefined {
    return this.#gone;
  }

  /** The kernel release of the guest. */
  get release(): string {
    return this.#guest.release;
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  async renew(why?: string): Promise<void> {
    this.#options.log?.(`a fresh guest is booted${why === undefined ? '' : `: ${why}`}`);
    const old = this.#guest;
    await this.#hostControl.close();
    await old.stop();
    const { guest, hostControl } = await bootHost(this.#options, join(this.#directory, 'wire'));
    this.#guest = guest;
    this.#hostControl = hostControl;
    this.#gone = undefined;
    this.#watch(guest);
  }

  async close(): Promise<void> {
    await this.#hostControl.close();
    await this.#guest.stop();
    await this.#open.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #watch(guest: Guest): void {
    void guest.ended.then((reason) => {
      if (this.#guest === guest) this.#gone = reason;
    });
  }
}

interface LabHost {
  readonly guest: Guest;
  readonly hostControl: AgentClient;
}

async function bootHost({ kernel, log }: LabDutOptions, path: string): Promise<LabHost> {
  const image = await buildImage(kernel, log === undefined ? {} : { log });
  const guest = await Guest.boot({
    image,
    netSocket: { path },
    mac: GUEST_MAC,
    addresses: PAIRS.map(([theirs, , bits]) => `${theirs}/${bits}`),
    mtu: MTU,
    hostControl: true,
  });
  try {
    const { socket } = await startAgent(guest, log === undefined ? {} : { log });
    return { guest, hostControl: await AgentClient.open(socket, { answerTimeoutMs: ANSWER_TIMEOUT_MS }) };
  } catch (error) {
    await guest.stop();
    throw error;
  }
}

/** Of the guest's GIDs those that are its addresses. */
function addressesOf({ description }: AgentClient): DutAddress[] {
  return PAIRS.flatMap(([theirs, ours]) => {
    const address = IpAddress.parse(theirs);
    const gid = description.gids.find((entry) => entry.type === 'v2' && IpAddress.parse(entry.address).equals(address));
    return gid === undefined ? [] : [{ address, ours: IpAddress.parse(ours), gidIndex: gid.index }];
  });
}

/** Addresses of the guest and of ours, and the length of their prefix. */
const PAIRS = [
  ['10.77.0.2', '10.77.0.1', 24],
  ['fd77::2', 'fd77::1', 64],
] as const;
const OUR_MAC = '02:00:00:00:77:01';
const GUEST_MAC = '52:54:00:00:00:02';
/** Path MTU 4096. */
const MTU = 4200;
const ANSWER_TIMEOUT_MS = 20_000;
