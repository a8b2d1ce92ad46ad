/**
 * Linux rdma_rxe in a guest, with the agent, at one end of the wire; a device of ours, or another guest, at the other.
 * Booted once for all scenarios.
 */
import { join } from 'node:path';
import { openDevice } from 'rocev2';
import { QemuLink } from 'rocev2/node';
import { IpAddress, RoceError } from 'rocev2/packets';
import { CablePort } from '../../experiment/port.ts';
import { Guest } from '../../lab/guest.ts';
import { buildImage } from '../../lab/image.ts';
import { labAvailable } from '../../lab/probe.ts';
import type { KernelLabel } from '../../lab/recipe.ts';
import { startAgent } from '../agent/in-guest.ts';
import { AgentClient } from '../host-control/client.ts';
import { inProcessHostControl } from '../host-control/in-process.ts';
import { type LiveEnd, liveTestbeds } from './live.ts';
import type { TestbedEnd, TestbedFactory } from './stage.ts';

export interface LabOptions {
  readonly kernel: KernelLabel;
  readonly peer: 'rocev2' | 'rxe';
  readonly log?: (line: string) => void;
}

/**
 * Boots the devices; the guest under test is end a. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE where there can be
 * none, and as `Guest.boot`
 */
export async function openLab(options: LabOptions): Promise<TestbedFactory> {
  const lab = labAvailable();
  if (!lab.ok) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', lab.reason);
  return liveTestbeds(
    (directory) => openGuest(options, join(directory, 'a'), 1),
    (directory) => {
      const path = join(directory, 'b');
      return options.peer === 'rxe' ? openGuest(options, path, 2) : openOurs(path, 2);
    },
  );
}

async function openGuest({ kernel, log }: LabOptions, path: string, host: number): Promise<LiveEnd> {
  const building = log === undefined ? {} : { log };
  const image = await buildImage(kernel, building);
  const port = await CablePort.open(new QemuLink({ path, mtu: LAN_MTU }));
  let guest: Guest | undefined;
  try {
    guest = await Guest.boot({
      ...{ image, netSocket: { path }, mac: `52:54:00:00:78:0${host}`, mtu: LAN_MTU, hostControl: true },
      addresses: addressesOf(host).map(({ address, bits }) => `${address}/${bits}`),
    });
    const { socket } = await startAgent(guest, building);
    const hostControl = await AgentClient.open(socket, { answerTimeoutMs: ANSWER_TIMEOUT_MS });
    const { gids } = hostControl.description;
    const addresses = addressesOf(host).map(({ address }) => {
      const here = IpAddress.parse(address);
      const gid = gids.find((one) => one.type === 'v2' && IpAddress.parse(one.address).equals(here));
      if (gid === undefined) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the guest has no GID for ${address}`);
      return { address, gidIndex: gid.index };
    });
    const running = guest;
    const close = async (): Promise<void> => {
      await hostControl.close();
      await running.stop();
      await port.close();
    };
    return { end: { device: 'rxe', version: kernel, hostControl, addresses }, port, close };
  } catch (error) {
    await guest?.stop();
    await port.close();
    throw error;
  }
}

async function openOurs(path: string, host: number): Promise<LiveEnd> {
  const port = await CablePort.open(new QemuLink({ path, mtu: LAN_MTU }));
  try {
    const open = await openDevice({
      ...{ link: `qemu:${path},connect`, mac: `02:00:00:00:78:0${host}`, mtu: LAN_MTU },
      addresses: addressesOf(host).map(({ address, bits }) => `${address}/${bits}`),
      congestion: { notification: { minTimeBetweenCnpsNs: MIN_TIME_BETWEEN_CNPS_NS } },
    });
    const hostControl = inProcessHostControl(open.device, { cnp: true });
    const addresses = addressesOf(host).map(({ address }, gidIndex) => ({ address, gidIndex }));
    const close = async (): Promise<void> => {
      await hostControl.close();
      await open.close();
      await port.close();
    };
    const end: TestbedEnd = {
      ...{ device: 'rocev2', version: '', hostControl, addresses },
      minTimeBetweenCnpsNs: MIN_TIME_BETWEEN_CNPS_NS,
    };
    return { end, port, close };
  } catch (error) {
    await port.close();
    throw error;
  }
}

function addressesOf(host: number): { readonly address: string; readonly bits: number }[] {
  return [
    { address: `10.78.0.${host}`, bits: 24 },
    { address: `fd78::${host}`, bits: 64 },
  ];
}

const LAN_MTU = 1500;
const ANSWER_TIMEOUT_MS = 60_000;
/** An emulated sender is slow: marks come milliseconds apart. */
const MIN_TIME_BETWEEN_CNPS_NS = 100e6;
