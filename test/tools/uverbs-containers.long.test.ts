/**
 * Goal: who serves and who runs decides whether a program runs, and where it cannot, one line says why and nothing
 * waits. Method: the rows of docs/uverbs.md that this machine allows: users, capabilities, namespaces, filters.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/need.ts';
import { startProgram } from '../support/running.ts';

const OTHER = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--inh-caps=-all'];
const PONG = 'timeout 60 ibv_rc_pingpong -g 1 -e -c -n 20';

/** It makes itself undumpable; the loader brings it. */
const UNDUMPABLE = `#include <sys/prctl.h>
__attribute__((constructor)) static void hide(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
`;
/** As a container whose profile lets nobody read other processes. */
const DENY = `#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };
	if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		return 126;
	execvp(words[1], words + 1);
	return 127;
}
`;

describeWith(['verbs', 'compiler', 'koffi', 'netns', 'namespaces'], 'a program and its server', () => {
  // Not below a directory of root's alone.
  const directory = mkdtempSync('/tmp/roce-containers-');
  const cache = join(directory, 'cache');
  const [hide, deny] = [join(directory, 'undumpable.so'), join(directory, 'deny')];
  const asOther = [...OTHER, 'env', `XDG_CACHE_HOME=${cache}`, `HOME=${cache}`];
  const hidden = `env LD_PRELOAD=${hide}:$LD_PRELOAD`;

  beforeAll(() => {
    chmodSync(directory, 0o755);
    mkdirSync(cache);
    chmodSync(cache, 0o777);
    for (const [name, text] of [
      ['hide.c', UNDUMPABLE],
      ['deny.c', DENY],
    ] as const)
      writeFileSync(join(directory, name), text);
    execFileSync('cc', ['-shared', '-fPIC', join(directory, 'hide.c'), '-o', hide]);
    execFileSync('cc', [join(directory, 'deny.c'), '-o', deny]);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const run = (server: readonly string[], program: string) => {
    const line = `${program} ${PONG}`.trim();
    return startProgram('tools/roce.ts', ['run', '--pair', '--', line, `${line} localhost`], server).ended;
  };

  it.each<[string, readonly string[], string]>([
    ['both of root', [], ''],
    ['both of uid 65534', asOther, ''],
    ['root without CAP_SYS_PTRACE', ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-all'], ''],
    ['root, and a program that is undumpable', [], hidden],
    ['a program in a pid namespace of its own', [], 'unshare -pf --mount-proc'],
    ['uid 65534, and a program in a user namespace', asOther, 'unshare -Ur'],
    ['both in one container', ['unshare', '-Urpf', '--mount-proc'], ''],
  ])('run: %s', async (_, server, program) => {
    const { code, stdout, stderr } = await run(server, program);
    expect([code, stdout.match(/20 iters in/g)?.length], stderr).toEqual([0, 2]);
  });

  it.each<[string, readonly string[], string, RegExp]>([
    [
      'root, and a program of uid 65534',
      ['env', `XDG_CACHE_HOME=${cache}`],
      OTHER.join(' '),
      /uid 65534 may not use it/,
    ],
    ['uid 65534, and an undumpable program', asOther, hidden, /out of reach: it has made itself undumpable/],
    ['a seccomp profile without process_vm_readv', [deny], '', /process_vm_readv is refused here: the seccomp profile/],
  ])('do not, and say why: %s', async (_, server, program, sentence) => {
    const { code, stderr } = await run(server, program);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(sentence);
  });
});
