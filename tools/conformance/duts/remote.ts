/**
 * A device on a wire of this machine: any RoCEv2 port, a NIC for one. With an agent on its host it is controlled;
 * without one there is what a target program hands out through the connection manager. The tester must not crash it.
 */
import { randomBytes } from 'node:crypto';
import { openLink } from 'rocev2/node';
import { IpAddress, IpPrefix, type MacAddress, RoceError } from 'rocev2/packets';
import { type AgentClient, connectAgent } from '../host-control/client.ts';
import { type Feature, HostControlError } from '../host-control/host-control.ts';
import type { Dut, DutAddress } from '../tester/dut.ts';
import type { TesterStation } from '../tester/station.ts';
import { type OpenStation, openStation } from './live.ts';

export interface RemoteDutOptions {
  /** Addresses of the device, IPv4, IPv6 or both. */
  readonly addresses: readonly string[];
  /** The wire, as on the command line. */
  readonly link: string;
  /** Our addresses with prefix lengths, where the link has none of its own. */
  readonly ip?: readonly string[];
  readonly mac?: MacAddress;
  readonly mtu?: number;
  readonly gateway?: string;
  /** Where the agent listens, `HOST:PORT`. */
  readonly agent?: string;
  /** Where the target listens, for devices without an agent. */
  readonly targetPort?: number;
  /** What the device can do beyond RC, where no agent says it. */
  readonly features?: readonly Feature[];
}

export class RemoteDut implements Dut {
  readonly name: string;
  readonly addresses: readonly DutAddress[];
  readonly targetPort: number;
  readonly patienceNs = 1e9;
  readonly quietNs = 50e6;
  readonly pollNs = 1e6;
  readonly virtual = false;
  readonly throwAway = false;
  readonly #options: RemoteDutOptions;
  readonly #open: OpenStation;
  #hostControl: AgentClient | undefined;
  #gone: string | undefined;

  private constructor(options: RemoteDutOptions, open: OpenStation, hostControl: AgentClient | undefined) {
    this.#options = options;
    this.#open = open;
    this.#hostControl = hostControl;
    this.name = options.addresses.join(', ');
    this.addresses = addressesOf(options.addresses, open.station, hostControl);
    this.targetPort = options.targetPort ?? DEFAULT_TARGET_PORT;
    void open.closed.then((error) => {
      if (error !== undefined) this.#gone = `the wire is gone: ${error.message}`;
    });
  }

  /** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE for a wire, a device or an agent that is not there */
  static async open(options: RemoteDutOptions): Promise<RemoteDut> {
    const link = openLink(options.link, options.mtu === undefined ? {} : { mtu: options.mtu });
    const own = (options.ip ?? link.addresses ?? []).map((text) => IpPrefix.parse(text));
    if (own.length === 0)
      throw new RoceError('ERR_ROCE_ARGUMENT', `${link.name} has no addresses of its own: give us one`);
    const open = await openStation(link, {
      mac: options.mac ?? randomMac(),
      addresses: own,
      ...(options.gateway === undefined ? {} : { gateway: IpAddress.parse(options.gateway) }),
    });
    try {
      const hostControl = await agentOf(options);
      const dut = new RemoteDut(options, open, hostControl);
      for (const { address } of dut.addresses) await open.station.macTowards(address);
      return dut;
    } catch (error) {
      await open.close();
      throw error;
    }
  }

  get device(): string {
    const driver = this.#hostControl?.description.driver ?? 'unknown';
    return driver === 'rdma_rxe' ? 'rxe' : driver;
  }

  get version(): string {
    const { version = '' } = this.#hostControl?.description ?? {};
    // As deviations name kernels: major and minor.
    return this.device === 'rxe' ? (/^\d+\.\d+/.exec(version)?.[0] ?? version) : version;
  }

  get station(): TesterStation {
    return this.#open.station;
  }

  get hostControl(): AgentClient | undefined {
    return this.#hostControl;
  }

  get features(): readonly Feature[] | undefined {
    return this.#hostControl?.description.features ?? this.#options.features;
  }

  get gone(): string | undefined {
    return this.#gone;
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  /** There is no other device; the agent may be had again, and then it has a clean table. */
  async renew(): Promise<void> {
    await this.#hostControl?.close();
    this.#hostControl = await agentOf(this.#options);
  }

  async close(): Promise<void> {
    await this.#hostControl?.close();
    await this.#open.close();
  }
}

async function agentOf({ agent }: RemoteDutOptions): Promise<AgentClient | undefined> {
  if (agent === undefined) return undefined;
  try {
    return await connectAgent(agent, { answerTimeoutMs: ANSWER_TIMEOUT_MS, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof HostControlError)) throw error;
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the agent at ${agent}: ${error.message}`);
  }
}

function addressesOf(
  texts: readonly string[],
  station: TesterStation,
  hostControl: AgentClient | undefined,
): DutAddress[] {
  return texts.map((text) => {
    const address = IpAddress.parse(text);
    const ours = station.addresses.find((one) => one.address.version === address.version)?.address;
    if (ours === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', `we have no IPv${address.version} address to reach ${text} from`);
    const gid = hostControl?.description.gids.find(
      (one) => one.type === 'v2' && IpAddress.parse(one.address).equals(address),
    );
    if (hostControl !== undefined && gid === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', `${hostControl.description.device} has no RoCEv2 GID ${text}`);
    return { address, ours, gidIndex: gid?.index ?? 0 };
  });
}

/** Unicast, and of the locally administered range. */
function randomMac(): MacAddress {
  const mac = Uint8Array.from(randomBytes(6));
  mac[0] = ((mac[0] ?? 0) & ~1) | 2;
  return mac;
}

const DEFAULT_TARGET_PORT = 7471;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 10_000;
