/**
 * Whether a package with compiled code can be loaded, and the system it is for, as requirements.
 * Never loads the package in this process: these packages are not context aware, so that the first load decides for the
 * whole process (ref:platform#2). A child process tries instead, and reports the error.
 */
import { execFile } from 'node:child_process';
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
  const fault = await loadInChildProcess(path);
  return { what, met: fault === '', remedy: fault === '' ? '' : `${remedy} (${fault})` };
}

export function linuxRequirement(remedy = 'use a link that this system has, such as udp6'): Requirement {
  return { what: 'Linux', met: process.platform === 'linux', remedy };
}

/** What to do when the kernel refuses a raw or packet socket. */
export const NET_RAW_REMEDY = 'run as root, or give it to node with setcap cap_net_raw+ep';

/** Why `require(path)` fails, in one line; empty when it does not. */
function loadInChildProcess(path: string): Promise<string> {
  return new Promise((resolve) => {
    const program = `try { require(${JSON.stringify(path)}) } catch (error) { console.log(String(error?.message ?? error)) }`;
    execFile(process.execPath, ['-e', program], { timeout: PROBE_TIMEOUT_MS }, (error, stdout) => {
      const [line = ''] = stdout.trim().split('\n');
      resolve(line !== '' || error === null ? line : 'the process that loads it crashes');
    });
  });
}

const PROBE_TIMEOUT_MS = 10_000;
