/**
 * Why the kernel does not let this process reach the memory of another: what is read of /proc, and the sentence that is
 * made of it. The rule is linux:kernel/ptrace.c#__ptrace_may_access with PTRACE_MODE_ATTACH_REALCREDS, and
 * linux:security/yama/yama_lsm.c#yama_ptrace_access_check after it. Looks, and changes nothing.
 */
import { readFileSync, statSync } from 'node:fs';
import type { Requirement } from '../links/kind.ts';

/** What decides. */
export interface AdmissionFacts {
  readonly pid: number;
  /** The program's, as `/proc/PID/comm` has it; '' when it is gone. */
  readonly name: string;
  /** /proc/sys/kernel/yama/ptrace_scope; undefined without Yama. */
  readonly yama: number | undefined;
  /** Of this process. */
  readonly uid: number;
  readonly hasSysPtrace: boolean;
  /** Of the program, undefined when it is gone. */
  readonly programUid: number | undefined;
  /** Whether it lets itself be dumped: otherwise its files in /proc are root's. */
  readonly isDumpable: boolean;
}

/** Reads them. Never throws. */
export function admissionFacts(pid: number): AdmissionFacts {
  const status = textOf(`/proc/${pid}/status`);
  const uid = /^Uid:\s+(\d+)/m.exec(status)?.[1];
  const owner = statSync(`/proc/${pid}/mem`, { throwIfNoEntry: false })?.uid;
  return {
    pid,
    name: textOf(`/proc/${pid}/comm`).trim(),
    yama: yamaScope(),
    uid: process.getuid?.() ?? 0,
    hasSysPtrace: hasSysPtrace(),
    programUid: uid === undefined ? undefined : Number(uid),
    isDumpable: uid === undefined || owner === Number(uid),
  };
}

/** Yama's ptrace_scope of this machine, 0 to 3; undefined where there is no Yama. */
export function yamaScope(): number | undefined {
  const text = textOf('/proc/sys/kernel/yama/ptrace_scope').trim();
  return text === '' ? undefined : Number(text);
}

/**
 * Whether Yama lets a server in this process reach the memory of programs. Below 2 it does: at 1 the shim admits it.
 *
 * @param scope null where there is no Yama
 */
export function yamaRequirement(scope: number | null, isPrivileged: boolean): Requirement {
  const what = "the memory of programs (Yama's ptrace_scope)";
  if (scope === null || scope < ADMIN_ONLY) return { what, met: true, remedy: '' };
  if (scope === ADMIN_ONLY) {
    const remedy = 'it is 2: run as root, or sysctl kernel.yama.ptrace_scope=1, with which a program admits its server';
    return { what, met: isPrivileged, remedy: isPrivileged ? '' : remedy };
  }
  return { what, met: false, remedy: `it is ${scope}: nobody reaches it, root neither, until the machine boots anew` };
}

/** Whether this process has CAP_SYS_PTRACE, in its own user namespace. */
export function hasSysPtrace(): boolean {
  const effective = /^CapEff:\s+([0-9a-f]+)/m.exec(textOf('/proc/self/status'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_PTRACE) & 1n) === 1n;
}

/** One sentence, for people. */
export function whyDenied(facts: AdmissionFacts): string {
  const { pid, name, yama, uid, hasSysPtrace: privileged, programUid, isDumpable } = facts;
  const head = `the memory of ${name === '' ? 'a program' : name} (process ${pid}) is out of reach`;
  if (yama === NO_ATTACH) return `${head}: Yama's ptrace_scope is 3, which nothing but a reboot changes`;
  if (yama === ADMIN_ONLY && !privileged)
    return `${head}: Yama's ptrace_scope is 2: the server needs CAP_SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=1`;
  if (!privileged && programUid !== undefined && programUid !== uid)
    return `${head}: it is of uid ${programUid}, and the server of uid ${uid}, without CAP_SYS_PTRACE`;
  if (!privileged && !isDumpable)
    return `${head}: it has made itself undumpable (PR_SET_DUMPABLE, or a file with capabilities)`;
  if (yama === RELATED_ONLY && !privileged)
    return `${head}: Yama's ptrace_scope is 1, and the program cannot name a server outside of its container`;
  return `${head}: it has privileges that the server has not`;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const CAP_SYS_PTRACE = 19n;
const RELATED_ONLY = 1;
const ADMIN_ONLY = 2;
const NO_ATTACH = 3;
