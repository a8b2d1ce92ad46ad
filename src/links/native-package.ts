/**
 * Whether a package with compiled code can be loaded, and the privilege such links need, as requirements.
 * Never loads the package in this process: these packages are not context aware, so that the first load decides for the whole process
 * (ref:platform#2). A process of its own tries instead, and says why not.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Requirement } from './kind.ts';

const require = createRequire(import.meta.url);

/** @param remedy what to install, words that follow a semicolon */
export async function packageRequirement(name: string, remedy: string): Promise<Requirement> {
  const what = `the package ${name}`;
  let path: string;
  try {
    path = require.resolve(name);
  } catch {
    return { what, met: false, remedy };
  }
  const fault = await loadElsewhere(path);
  return { what, met: fault === '', remedy: fault === '' ? '' : `${remedy} (${fault})` };
}

export function linuxRequirement(): Requirement {
  return { what: 'Linux', met: process.platform === 'linux', remedy: 'use a link that this system has, such as udp6' };
}

/** CAP_NET_RAW among the effective capabilities of this process. */
export function netRawRequirement(): Requirement {
  return { what: 'the privilege CAP_NET_RAW', met: hasCapability(CAP_NET_RAW), remedy: NET_RAW_REMEDY };
}

/** What to do when the kernel refuses a raw or packet socket. */
export const NET_RAW_REMEDY = 'run as root, or give it to node with setcap cap_net_raw+ep';

/** Why `require(path)` fails, in one line; empty when it does not. */
function loadElsewhere(path: string): Promise<string> {
  return new Promise((resolve) => {
    const program = `try { require(${JSON.stringify(path)}) } catch (error) { console.log(String(error?.message ?? error)) }`;
    execFile(process.execPath, ['-e', program], { timeout: PROBE_TIMEOUT_MS }, (error, stdout) => {
      const [line = ''] = stdout.trim().split('\n');
      resolve(line !== '' || error === null ? line : 'the process that loads it crashes');
    });
  });
}

/** man 5 proc_pid_status, man 7 capabilities. */
function hasCapability(bit: number): boolean {
  try {
    const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return ((BigInt(`0x${mask}`) >> BigInt(bit)) & 1n) === 1n;
  } catch {
    return false;
  }
}

const CAP_NET_RAW = 13;
const PROBE_TIMEOUT_MS = 10_000;
