/**
 * The second port of a guest, for a program that speaks to the host: sends the program into the guest through the port
 * itself (every guest's file system stays the same), starts it there, and ends it with its socket. Does not interpret
 * the bytes between the two.
 */
import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { RoceError } from 'rocev2/packets';
import type { GuestJob, RunResult } from './job.ts';
import { HOST_CONTROL_PORT } from './qemu.ts';

/** A program of the guest and the host's end of its port. */
export interface AttachedProgram {
  readonly socket: Socket;
  /** Its output, its end. */
  readonly job: GuestJob;
}

/** What is needed of a guest. */
interface Shell {
  run(command: string, options?: { timeoutMs?: number }): Promise<RunResult>;
  spawn(command: string): GuestJob;
}

export class HostControlPort {
  readonly #shell: Shell;
  readonly #path: string;
  #current: AttachedProgram | undefined;
  /** Digest of the program that the guest has. */
  #present: string | undefined;

  /** `path` is the unix socket that qemu listens on. */
  constructor(shell: Shell, path: string) {
    this.#shell = shell;
    this.#path = path;
  }

  async attach(program: Uint8Array, args: readonly string[]): Promise<AttachedProgram> {
    await this.#end();
    const digest = createHash('sha256').update(program).digest('hex');
    if (this.#present !== digest) await this.#bring(program, digest);
    const socket = await this.#connect();
    const words = args.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const job = this.#shell.spawn(`${FIND_PORT}exec ${PROGRAM_PATH} ${words} "$port"`);
    const attached = { socket, job };
    this.#current = attached;
    void job.wait(LIFE_MS_MAX).then(
      () => socket.destroy(),
      () => socket.destroy(),
    );
    return attached;
  }

  close(): void {
    this.#current?.socket.destroy();
    this.#current = undefined;
  }

  /**
   * Ends the program that is there and waits until it is gone: two must not read one port. A program that sees its
   * port's end may tidy up first, which can be much quicker than leaving that to the kernel.
   */
  async #end(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    this.close();
    const ended = await current.job.wait(TIDY_MS_MAX).catch(() => undefined);
    if (ended !== undefined) return;
    await current.job.kill('KILL');
    await current.job.wait(END_MS_MAX);
  }

  async #bring(program: Uint8Array, digest: string): Promise<void> {
    const socket = await this.#connect();
    try {
      const received = this.#shell.run(receiveScript(program.length), { timeoutMs: BRING_MS_MAX });
      socket.write(program);
      const { stdout, stderr } = await received;
      if (stdout.split(' ')[0] !== digest) {
        throw new RoceError(
          'ERR_ROCE_LINK_UNAVAILABLE',
          `a program did not arrive in the guest whole: ${stderr.trim()}`,
        );
      }
      this.#present = digest;
    } finally {
      socket.destroy();
    }
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#path);
      socket.on('error', (cause) => {
        reject(new RoceError('ERR_ROCE_LINK_UNAVAILABLE', "no listener at the guest's port", { cause }));
      });
      socket.once('connect', () => resolve(socket));
    });
  }
}

/** The kernel may report the host's end a moment after it was opened; until then the port reads as ended. */
function receiveScript(bytes: number): string {
  return `${FIND_PORT}rm -f ${PROGRAM_PATH}
tries=250
until head -c ${bytes} < "$port" > ${PROGRAM_PATH}; [ -s ${PROGRAM_PATH} ]; do
  tries=$((tries - 1))
  [ $tries -gt 0 ] || break
  usleep 20000
done
chmod 755 ${PROGRAM_PATH}
sha256sum < ${PROGRAM_PATH}
`;
}

const PROGRAM_PATH = '/run/lab/attached';
/** Sets `port`; the number of the virtio device is not ours to choose. */
const FIND_PORT = `for name in /sys/class/virtio-ports/*/name; do
  [ "$(cat "$name")" = ${HOST_CONTROL_PORT} ] && port=/dev/$(basename "$(dirname "$name")")
done
`;
const BRING_MS_MAX = 60_000;
const TIDY_MS_MAX = 10_000;
/** A device may take long to let go of a queue pair. */
const END_MS_MAX = 90_000;
/** As long as a timer can be: a program ends with its guest. */
const LIFE_MS_MAX = 2 ** 31 - 1;
