/**
 * What `roce run` does with a server that is there: one program, or two of which the second waits until the first
 * listens.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import type { ServedUverbs } from 'rocev2/node';
import { type Child, type ShimPlace, startUnderShim } from './child.ts';

/** One program: its exit code. */
export function runOne([command = '', ...args]: readonly string[], place: ShimPlace): Promise<number> {
  return startUnderShim(command, args, place).ended;
}

/**
 * Two command lines, for a shell. The second is started once the first listens, for TCP or for rdma_cm. The exit code
 * of the first that fails, 0 when none does; the other is ended then. One that goes on when the second has ended well,
 * a server for many, is ended.
 */
export async function runPair(
  lines: readonly [string, string],
  place: ShimPlace,
  served: ServedUverbs,
): Promise<number> {
  const first = startUnderShim('sh', ['-c', `exec ${lines[0]}`], place);
  const earlier = await Promise.race([first.ended, listening(first, served)]);
  if (earlier !== undefined) return earlier;
  const second = startUnderShim('sh', ['-c', `exec ${lines[1]}`], place);
  const early = await Promise.race([first.ended.then((code) => (code === 0 ? undefined : code)), second.ended]);
  if (early !== undefined && early !== 0) {
    for (const child of [first, second]) child.kill('SIGTERM');
    await Promise.all([first.ended, second.ended]);
    return early;
  }
  const code = await second.ended;
  if (code !== 0) return code;
  const last = await Promise.race([first.ended, later(PATIENCE_MS, undefined, { ref: false })]);
  if (last !== undefined) return last;
  first.kill('SIGTERM');
  await first.ended;
  return 0;
}

/** Resolves when the program listens, or has had the time to. */
async function listening(child: Child, served: ServedUverbs): Promise<undefined> {
  const before = served.sizes.listens;
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += STEP_MS) {
    await later(STEP_MS, undefined, { ref: false });
    if (served.sizes.listens > before || listensForTcp(child.pid)) return;
  }
}

/** Whether a process has a TCP socket that listens. */
function listensForTcp(pid: number): boolean {
  try {
    const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
    const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8'));
    return tables.some((table) =>
      table.split('\n').some((line) => {
        const [, , , state, , , , , , inode] = line.trim().split(/\s+/);
        return state === LISTEN && sockets.has(`socket:[${inode}]`);
      }),
    );
  } catch {
    // It has ended, or is another user's.
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

const LISTEN = '0A';
const STEP_MS = 50;
const PATIENCE_MS = 5000;
