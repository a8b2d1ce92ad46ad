/**
 * A device under test by the word that a command line has for it: `in-process`, `lab:KERNEL`, or addresses on a wire.
 */
import ipaddr from 'ipaddr.js';
import { defined, parseMac, RoceError } from 'rocev2/packets';
import { KERNELS } from '../../lab/recipe.ts';
import type { Feature } from '../host-control/host-control.ts';
import type { Dut } from '../tester/dut.ts';
import { InProcessDut } from './in-process.ts';

export interface DutFlags {
  readonly dut: string;
  readonly seed: number;
  readonly agent?: string;
  readonly link?: string;
  readonly ip?: readonly string[];
  readonly mac?: string;
  readonly mtu?: number;
  readonly gateway?: string;
  readonly targetPort?: number;
  readonly features?: readonly Feature[];
}

/**
 * Opens it; what only some devices need is loaded only for them. @throws RoceError ERR_ROCE_ARGUMENT for a word that
 * names nothing, ERR_ROCE_LINK_UNAVAILABLE for what is not to be had
 */
export async function openDut(flags: DutFlags, log: (line: string) => void): Promise<Dut> {
  const { dut, seed, agent, link, ip, mac, mtu, gateway, targetPort, features } = flags;
  const tells = agent !== undefined || dut === 'in-process' || dut.startsWith('lab:');
  if (features !== undefined && tells)
    refuse('--features is for a device without an agent: this one reports its features itself');
  if (dut === 'in-process') return new InProcessDut({ seed });
  if (dut.startsWith('lab:')) {
    const kernel = KERNELS.find((label) => label === dut.slice(4));
    if (kernel === undefined) refuse(`the lab has the kernels ${KERNELS.join(', ')}, and not '${dut.slice(4)}'`);
    const { LabDut } = await import('./lab.ts');
    return LabDut.open({ kernel, log });
  }
  const addresses = dut.split(',');
  const wrong = addresses.find((text) => !ipaddr.isValid(text));
  if (wrong !== undefined) refuse(`'${wrong}' is not in-process, lab:KERNEL or an IP address`);
  if (link === undefined) refuse(`--link is required for ${dut}: the wire that it is on ("roce links" lists them)`);
  const { RemoteDut } = await import('./remote.ts');
  return RemoteDut.open({
    ...{ addresses, link },
    ...defined({ ip }),
    ...(mac === undefined ? {} : { mac: parseMac(mac) }),
    ...defined({ mtu, gateway, agent, targetPort, features }),
  });
}

function refuse(message: string): never {
  throw new RoceError('ERR_ROCE_ARGUMENT', message);
}
