/**
 * Two devices on hosts of their own, NICs for one, each with an agent, and this machine between their cables: two
 * Ethernet links that lead to one of them each. Owns the way to the agents and which GIDs are meant.
 */

import { openLink } from 'rocev2/node';
import { defined, IpAddress, RoceError } from 'rocev2/packets';
import { CablePort } from '../../experiment/port.ts';
import { type AgentClient, connectAgent } from '../host-control/client.ts';
import { HostControlError } from '../host-control/host-control.ts';
import { type LiveEnd, liveTestbeds } from './live.ts';
import type { TestbedEnd, TestbedFactory } from './stage.ts';

/** One of the two. */
export interface RemoteEnd {
  /** The wire that leads to it, as on the command line: `packet-ring:eth1`. */
  readonly link: string;
  /** Where its agent listens, `HOST:PORT`, on another network. */
  readonly agent: string;
  /** Its addresses; the other end has as many, each on the same subnet as the one here. */
  readonly addresses: readonly string[];
  /** Its distance between CNPs in nanoseconds, where it is known. */
  readonly minTimeBetweenCnpsNs?: number;
}

/**
 * @throws RoceError ERR_ROCE_LINK_UNAVAILABLE for a wire or an agent that is not there, ERR_ROCE_ADDRESS for an address
 * that is no GID
 */
export function openRemotes(a: RemoteEnd, b: RemoteEnd): Promise<TestbedFactory> {
  return liveTestbeds(
    () => openRemote(a),
    () => openRemote(b),
  );
}

async function openRemote({ link, agent, addresses, minTimeBetweenCnpsNs }: RemoteEnd): Promise<LiveEnd> {
  const port = await CablePort.open(openLink(link));
  let hostControl: AgentClient | undefined;
  try {
    hostControl = await agentAt(agent);
    const { driver, version } = hostControl.description;
    const rxe = driver === 'rdma_rxe';
    const end: TestbedEnd = {
      device: rxe ? 'rxe' : driver,
      // As deviations name kernels: major and minor. Two devices of one kind differ in nothing else.
      version: rxe ? (/^\d+\.\d+/.exec(version)?.[0] ?? version) : version,
      hostControl,
      addresses: gidsOf(hostControl, addresses),
      ...defined({ minTimeBetweenCnpsNs }),
    };
    const connected = hostControl;
    const close = async (): Promise<void> => {
      await connected.close();
      await port.close();
    };
    return { end, port, close };
  } catch (error) {
    await hostControl?.close();
    await port.close();
    throw error;
  }
}

async function agentAt(agent: string): Promise<AgentClient> {
  try {
    return await connectAgent(agent, { answerTimeoutMs: ANSWER_TIMEOUT_MS, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof HostControlError)) throw error;
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the agent at ${agent}: ${error.message}`);
  }
}

function gidsOf({ description }: AgentClient, addresses: readonly string[]): TestbedEnd['addresses'] {
  if (addresses.length === 0) throw new RoceError('ERR_ROCE_ADDRESS', `${description.device} was given no address`);
  return addresses.map((address) => {
    const wanted = IpAddress.parse(address);
    const gid = description.gids.find((one) => one.type === 'v2' && IpAddress.parse(one.address).equals(wanted));
    if (gid === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', `${description.device} has no RoCEv2 GID ${address}`);
    return { address, gidIndex: gid.index };
  });
}

const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 10_000;
