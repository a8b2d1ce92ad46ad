/** Reads which privileges this process has, without using any (man 5 proc_pid_status, man 7 capabilities). */
import { readFileSync } from 'node:fs';
import type { Requirement } from './kind.ts';

/** @param name as in `CAP_NET_RAW` */
export function capabilityRequirement(name: keyof typeof CAPABILITIES): Requirement {
  const met = hasCapability(CAPABILITIES[name]);
  const remedy = met ? '' : `run as root, or give it to node with setcap ${name.toLowerCase()}+ep`;
  return { what: `the privilege ${name}`, met, remedy };
}

/** Whether it is among the effective ones of this thread. */
function hasCapability(bit: number): boolean {
  let status: string;
  try {
    status = readFileSync('/proc/thread-self/status', 'utf8');
  } catch {
    return false;
  }
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  return ((BigInt(`0x${mask}`) >> BigInt(bit)) & 1n) === 1n;
}

const CAPABILITIES = { CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 } as const;
