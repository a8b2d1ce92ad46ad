/**
 * Notifies a native link when its descriptor is readable or writable again, through the event loop of its own thread.
 * Owns the watch. Never reads, and never closes a descriptor.
 *
 * One epoll serves all descriptors of a thread, and no thread of the pool is taken. Readiness is a level, not an edge:
 * a link reads a bounded number of frames per call and returns, and is called again in the next round of the loop when
 * there is more, so that the rest of the process can run. `ready` is called in the poll phase, just before the check
 * phase in which the driver takes its turn.
 */
import { invariant } from '../../../packets/errors.ts';
import { FAILED, type Libc, type PollHandle, READABLE, WRITABLE } from './libc.ts';

export class DescriptorWatch {
  readonly #fd: number;
  readonly #handle: PollHandle;
  readonly #ready: (bits: number) => void;
  #bits = READABLE;
  #stopped = false;

  /**
   * Waits until `fd`, which must be non-blocking, is readable, for as long as the watch is not stopped; the process
   * lives as long.
   *
   * @param ready told READABLE, WRITABLE or both, or FAILED alone: then the link has to take the error away, for
   * instance by reading
   *   SO_ERROR, or stop the watch; else it is told again and again. May stop the watch.
   */
  constructor(libc: Libc, fd: number, ready: (bits: number) => void) {
    // koffi crashes the process when the event loop refuses a descriptor.
    invariant(fd >= 0 && !WATCHES.has(fd), `descriptor ${fd} is open, and watched once`);
    this.#fd = fd;
    this.#ready = ready;
    this.#handle = libc.poll(fd, this.#bits, (bits) => this.#tell(bits));
    WATCHES.set(fd, this);
  }

  /** Whether to report writability as well, after a send that was cut short. */
  wantWritable(wanted: boolean): void {
    const bits = wanted ? READABLE | WRITABLE : READABLE;
    if (bits === this.#bits || this.#stopped) return;
    this.#bits = bits;
    this.#handle.want(bits);
  }

  /**
   * Nothing is reported any more, and the descriptor may be closed as soon as this returns. May be called more than
   * once.
   */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#handle.close();
    WATCHES.delete(this.#fd);
  }

  /**
   * Nothing may be thrown at koffi, whose event loop handle would be stuck with it: an error surfaces in a turn of its
   * own.
   */
  #tell(bits: number): void {
    if (this.#stopped) return;
    try {
      this.#ready(bits);
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
    }
    // libuv stops by itself when it reports an error.
    if (bits === FAILED && !this.#stopped) this.#handle.want(this.#bits);
  }
}

/**
 * By descriptor. Holds every watch, and by its callback every link, until it is stopped: an unreferenced link must keep
 * receiving.
 */
const WATCHES = new Map<number, DescriptorWatch>();
