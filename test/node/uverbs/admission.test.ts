/**
 * Goal: a program whose memory the kernel does not let the server reach is told from others, and the sentence names
 * what is in the way. Method: facts as each machine has them; this process, and its sockets.
 */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { sendWithDescriptor } from '../../../src/node/links/descriptor-message.ts';
import { loadLibc } from '../../../src/node/links/libc.ts';
import {
  type AdmissionFacts,
  admissionFacts,
  hasSysPtrace,
  whyDenied,
  yamaRequirement,
  yamaScope,
} from '../../../src/node/uverbs/admission.ts';
import { ClientMemory } from '../../../src/node/uverbs/process-memory.ts';
import { uverbsRequirements } from '../../../src/node/uverbs/serve.ts';
import { describeWith } from '../../support/need.ts';

const ORDINARY: AdmissionFacts = {
  pid: 77,
  name: 'ib_send_bw',
  yama: undefined,
  uid: 1000,
  hasSysPtrace: false,
  programUid: 1000,
  isDumpable: true,
};

describe('why the memory of a program is out of reach', () => {
  it.each<[string, Partial<AdmissionFacts>, RegExp]>([
    ['Yama 3, root too', { yama: 3, hasSysPtrace: true }, /ptrace_scope is 3, which nothing but a reboot changes$/],
    ['Yama 2', { yama: 2 }, /ptrace_scope is 2: the server needs CAP_SYS_PTRACE, or sysctl/],
    ['Yama 1', { yama: 1 }, /ptrace_scope is 1, and the program cannot name a server outside/],
    ['another user', { programUid: 0 }, /it is of uid 0, and the server of uid 1000, without CAP_SYS_PTRACE$/],
    ['undumpable', { isDumpable: false }, /it has made itself undumpable \(PR_SET_DUMPABLE/],
    ['privileges', { hasSysPtrace: true, yama: 2 }, /it has privileges that the server has not$/],
    [
      'gone',
      { name: '', programUid: undefined },
      /^the memory of a program \(process 77\) is out of reach: it has priv/,
    ],
  ])('%s', (_, facts, sentence) => {
    expect(whyDenied({ ...ORDINARY, ...facts })).toMatch(sentence);
  });

  it('is read of /proc, and nothing where there is no such process', () => {
    const { uid } = userInfo();
    expect(admissionFacts(process.pid)).toMatchObject({ uid, programUid: uid, isDumpable: true });
    expect(admissionFacts(2 ** 22 + 1)).toMatchObject({ name: '', programUid: undefined, isDumpable: true });
  });
});

describe("what is required of Yama's ptrace_scope", () => {
  it.each<[number | undefined, boolean, boolean, RegExp]>([
    [undefined, false, true, /^$/],
    [0, false, true, /^$/],
    [1, false, true, /^$/],
    [2, true, true, /^$/],
    [2, false, false, /^it is 2: run as root, or sysctl kernel\.yama\.ptrace_scope=1/],
    [3, false, false, /^it is 3: nobody reaches it/],
    [3, true, false, /^it is 3: nobody reaches it/],
  ])('%s, with CAP_SYS_PTRACE: %s', (scope, isPrivileged, met, remedy) => {
    const required = yamaRequirement(scope ?? null, isPrivileged);
    expect(required).toMatchObject({ what: "the memory of programs (Yama's ptrace_scope)", met });
    expect(required.remedy).toMatch(remedy);
  });

  it('is among what verbs need of a machine, as this one has it', async () => {
    expect(await uverbsRequirements()).toContainEqual(yamaRequirement(yamaScope() ?? null, hasSysPtrace()));
  });
});

describeWith('koffi', 'the machine', () => {
  it('lets a process reach itself, and one that is gone is not refused', async () => {
    const libc = await loadLibc();
    const denied: string[] = [];
    for (const pid of [process.pid, 2 ** 22 + 1]) {
      const memory = new ClientMemory(libc, pid, () => denied.push(`${pid}`));
      expect(memory.probe()).toBe(true);
      memory.close();
    }
    expect(denied).toEqual([]);
  });

  it('takes no descriptor into what is no socket, or for one that is not there', async () => {
    const libc = await loadLibc();
    const file = openSync('/dev/null', 'r+');
    expect(sendWithDescriptor(libc, file, Uint8Array.of(1), file)).toBe(false);
    expect(fstatSync(file).isCharacterDevice()).toBe(true);
    closeSync(file);
  });
});
