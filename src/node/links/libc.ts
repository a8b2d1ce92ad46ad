/**
 * The C library's system calls for the native links, by way of the package koffi. Linux on 64-bit little-endian
 * machines only. Owns the binding, loaded once and not before a link starts, and the error message of a failed call.
 * Never keeps a descriptor.
 *
 * Structures are bytes in an ArrayBuffer of their own, which V8 never moves, held by the link; their address is asked
 * for once and a plain number, so that a call per packet allocates nothing and no BigInt is made (ref:platform#3,
 * ref:platform#5 rule 1).
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getSystemErrorMap } from 'node:util';
import { RoceError, type RoceErrorCode } from '../../../packets/errors.ts';
import { installNativeCrc32 } from '../bulk-crc32.ts';

/** Memory for a call: an address from `Libc.address`, with an offset added where needed, or what lies at it. */
export type Pointer = number | ArrayBuffer | Uint8Array | null;

/** Readiness of a descriptor, as bits. */
export const READABLE = 1;
export const WRITABLE = 2;
/**
 * An error waits (POLLERR); the next call on the descriptor returns it. Always reported, repeatedly until it is taken.
 */
export const FAILED = 4;

/**
 * A descriptor in the event loop of this thread. After `close` nothing is reported any more, and the descriptor may be
 * closed at once.
 */
export interface PollHandle {
  /** Waits for these bits from now on. */
  want(bits: number): void;
  close(): void;
}

/** System calls as in their manual pages: a negative result is a failure, and `errno` then says which. */
export interface Libc {
  open(path: string, flags: number): number;
  close(fd: number): number;
  read(fd: number, buffer: Pointer, length: number): number;
  write(fd: number, buffer: Pointer, length: number): number;
  ioctl(fd: number, request: number, argument: Pointer): number;
  eventfd(initial: number, flags: number): number;
  /** -1 when it fails, an address otherwise. */
  mmap(address: Pointer, length: number, protection: number, flags: number, fd: number, offset: number): number;
  munmap(address: number, length: number): number;
  socket(domain: number, type: number, protocol: number): number;
  listen(fd: number, backlog: number): number;
  accept4(fd: number, address: Pointer, length: Pointer, flags: number): number;
  bind(fd: number, address: Pointer, length: number): number;
  connect(fd: number, address: Pointer, length: number): number;
  setsockopt(fd: number, level: number, option: number, value: Pointer, length: number): number;
  getsockopt(fd: number, level: number, option: number, value: Pointer, length: Pointer): number;
  sendto(fd: number, data: Pointer, length: number, flags: number, address: Pointer, addressLength: number): number;
  sendmmsg(fd: number, headers: Pointer, count: number, flags: number): number;
  recvmmsg(fd: number, headers: Pointer, count: number, flags: number, timeout: Pointer): number;
  memfdCreate(name: string, flags: number): number;
  fcntl(fd: number, command: number, argument: number): number;
  fallocate(fd: number, mode: number, offset: number, length: number): number;
  /** Both vectors have one part: an address and a length, 8 bytes each. */
  processVmReadv(pid: number, local: Pointer, remote: Pointer): number;
  processVmWritev(pid: number, local: Pointer, remote: Pointer): number;
  /** Wakes at most `count` threads, of any process, that wait for a change of the word at `address`. */
  futexWake(address: number, count: number): number;
  /** Lets another thread have this processor, if one wants it. */
  schedYield(): number;
  /** A descriptor that is readable when the process has ended. */
  pidfdOpen(pid: number): number;
  /** Why the last call failed; read it before any other call. */
  errno(): number;
  /** Where the bytes are; good as long as the buffer is held and not transferred. */
  address(of: ArrayBuffer | Uint8Array): number;
  /** Memory that is not V8's as a buffer. It must not be accessed after it is unmapped. */
  view(address: number, length: number): ArrayBuffer;
  /** Puts a descriptor into the event loop. `ready` must not throw; links use `poller.ts`, which guarantees that. */
  poll(fd: number, bits: number, ready: (bits: number) => void): PollHandle;
}

let loading: Promise<Libc> | undefined;

/** The binding. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE when the machine or the package is missing, naming it */
export function loadLibc(): Promise<Libc> {
  loading ??= bindLibc();
  return loading;
}

/**
 * Plugs in the fastest CRC-32 that this machine has; without the package, or elsewhere, Node's own stays.
 *
 * @param memories where most of the bytes will be, which takes less time; held from then on
 */
export async function loadNativeCrc32(memories?: readonly SharedArrayBuffer[]): Promise<void> {
  if (!isSupported()) return;
  try {
    installNativeCrc32((await import('koffi')).default, memories);
  } catch {
    // An optional package.
  }
}

/** Whether the machine and the package are there; whether the package loads shows when it does. */
export function mayLoadLibc(): boolean {
  if (!isSupported()) return false;
  try {
    createRequire(import.meta.url).resolve('koffi');
    return true;
  } catch {
    return false;
  }
}

/** The error of a failed system call. `doing` says what was tried; `privilege` is what EPERM and EACCES lack here. */
export function systemError(code: RoceErrorCode, errno: number, doing: string, privilege?: string): RoceError {
  const [name, meaning] = MEANINGS.get(errno) ?? getSystemErrorMap().get(-errno) ?? [`errno ${errno}`, 'unknown error'];
  const lacking = privilege !== undefined && (errno === EPERM || errno === EACCES);
  const why = lacking ? `it needs the privilege ${privilege}` : meaning;
  return new RoceError(code, `${doing}: ${why} (${name})`);
}

async function bindLibc(): Promise<Libc> {
  if (!isSupported())
    throw unavailable(`native links need Linux on x64 or arm64, and this is ${process.platform} on ${process.arch}`);
  let koffi: Koffi;
  try {
    ({ default: koffi } = await import('koffi'));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unavailable(`native links need the package koffi: npm install koffi (${reason})`, cause);
  }
  installNativeCrc32(koffi);
  const library = koffi.load(null);
  keepLoaded(library);
  return {
    open: library.func('int open(const char *path, int flags)'),
    close: library.func('int close(int fd)'),
    read: library.func('long read(int fd, void *buffer, size_t length)'),
    write: library.func('long write(int fd, void *buffer, size_t length)'),
    ioctl: library.func('int ioctl(int fd, ulong request, void *argument)'),
    eventfd: library.func('int eventfd(uint initial, int flags)'),
    mmap: library.func('intptr_t mmap(void *at, size_t length, int prot, int flags, int fd, int64_t offset)'),
    munmap: library.func('int munmap(void *address, size_t length)'),
    socket: library.func('int socket(int domain, int type, int protocol)'),
    listen: library.func('int listen(int fd, int backlog)'),
    accept4: library.func('int accept4(int fd, void *address, void *length, int flags)'),
    connect: library.func('int connect(int fd, void *address, uint length)'),
    bind: library.func('int bind(int fd, void *address, uint length)'),
    setsockopt: library.func('int setsockopt(int fd, int level, int option, void *value, uint length)'),
    getsockopt: library.func('int getsockopt(int fd, int level, int option, void *value, void *length)'),
    sendto: library.func('long sendto(int fd, void *data, size_t length, int flags, void *to, uint size)'),
    sendmmsg: library.func('int sendmmsg(int fd, void *headers, uint count, int flags)'),
    recvmmsg: library.func('int recvmmsg(int fd, void *headers, uint count, int flags, void *timeout)'),
    schedYield: library.func('int sched_yield()'),
    ...bindProcesses(library),
    errno: () => koffi.errno(),
    address: (of) => Number(koffi.address(of)),
    view: (address, length) => koffi.view(address, length),
    poll: (fd, bits, ready) => pollWith(koffi, fd, bits, ready),
  };
}

/** What reaches into other processes, and has no name in every C library. */
function bindProcesses(library: ReturnType<Koffi['load']>) {
  const vector = '(int pid, void *local, ulong localCount, void *remote, ulong remoteCount, ulong flags)';
  const readv = library.func(`long process_vm_readv${vector}`);
  const writev = library.func(`long process_vm_writev${vector}`);
  const call = library.func('long syscall(long number, size_t a, size_t b, size_t c, size_t d, size_t e, size_t f)');
  const futex = process.arch === 'x64' ? SYS_FUTEX_X64 : SYS_FUTEX_ARM64;
  return {
    memfdCreate: library.func('int memfd_create(const char *name, uint flags)'),
    fcntl: library.func('int fcntl(int fd, int command, long argument)'),
    fallocate: library.func('int fallocate(int fd, int mode, int64_t offset, int64_t length)'),
    processVmReadv: (pid: number, local: Pointer, remote: Pointer): number => readv(pid, local, 1, remote, 1, 0),
    processVmWritev: (pid: number, local: Pointer, remote: Pointer): number => writev(pid, local, 1, remote, 1, 0),
    futexWake: (address: number, count: number): number => call(futex, address, FUTEX_WAKE, count, 0, 0, 0),
    pidfdOpen: (pid: number): number => call(SYS_PIDFD_OPEN, pid, 0, 0, 0, 0, 0),
  };
}

function isSupported(): boolean {
  return process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64');
}

type Koffi = typeof import('koffi')['default'];

/**
 * libuv's poll handle (epoll in the event loop itself). A blocking poll(2) on the thread pool was tried: while it
 * waits, neither process.exit nor Worker.terminate comes back, and it costs a hop between threads per wake-up.
 */
function pollWith(koffi: Koffi, fd: number, bits: number, ready: (bits: number) => void): PollHandle {
  // koffi calls back with a status before the events, which its types do not know.
  const callback = (...told: unknown[]): void => ready(told[0] === 0 ? bitsOf(told[1]) : FAILED);
  const handle = koffi.node.poll(fd, eventsOf(bits), callback);
  return {
    want: (wanted) => handle.start(eventsOf(wanted), callback),
    close: () => handle.close(),
  };
}

/**
 * Keeps koffi's code in memory. A worker thread that is the only one to have loaded it unloads it when it ends, and the
 * event loop then calls unloaded code to finish closing a poll handle: seen to crash the process.
 */
function keepLoaded(library: ReturnType<Koffi['load']>): void {
  const [, path] = /\s(\/.*koffi\.node)$/m.exec(readFileSync('/proc/self/maps', 'utf8')) ?? [];
  const dlopen = library.func('void *dlopen(const char *path, int flags)');
  if (path !== undefined) dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

function eventsOf(bits: number): { readable: boolean; writable: boolean } {
  return { readable: (bits & READABLE) !== 0, writable: (bits & WRITABLE) !== 0 };
}

function bitsOf(events: unknown): number {
  if (typeof events !== 'object' || events === null) return FAILED;
  const readable = 'readable' in events && events.readable === true ? READABLE : 0;
  return 'writable' in events && events.writable === true ? readable | WRITABLE : readable;
}

function unavailable(sentence: string, cause?: unknown): RoceError {
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', sentence, cause === undefined ? {} : { cause });
}

export const EPERM = 1;
export const ENOENT = 2;
export const EINTR = 4;
export const EIO = 5;
const ENXIO = 6;
export const EBADF = 9;
export const EAGAIN = 11;
export const EACCES = 13;
export const EBUSY = 16;
export const ENODEV = 19;
export const EINVAL = 22;
export const ENOSYS = 38;
export const EBADFD = 77;
export const EMSGSIZE = 90;
export const EADDRINUSE = 98;
export const ENETDOWN = 100;
export const ENOBUFS = 105;
export const ECONNREFUSED = 111;

export const O_RDWR = 0x2;
/** Also EFD_NONBLOCK and SOCK_NONBLOCK. */
export const O_NONBLOCK = 0x8_00;
/** Also EFD_CLOEXEC and SOCK_CLOEXEC: no child process inherits the wire. */
export const O_CLOEXEC = 0x8_00_00;

export const AF_UNIX = 1;
export const AF_INET = 2;
export const AF_INET6 = 10;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOL_SOCKET = 1;
export const SO_ERROR = 4;
export const SO_SNDBUF = 7;
export const SO_RCVBUF = 8;
export const SO_PEERCRED = 17;
export const SO_SNDBUFFORCE = 32;
export const SO_RCVBUFFORCE = 33;
export const MSG_DONTWAIT = 0x40;
export const MSG_NOSIGNAL = 0x40_00;

const SYS_FUTEX_X64 = 202;
const SYS_FUTEX_ARM64 = 98;
const SYS_PIDFD_OPEN = 434;
const FUTEX_WAKE = 1;

const RTLD_LAZY = 0x1;
const RTLD_NOLOAD = 0x4;
const RTLD_NODELETE = 0x10_00;

/** Messages for errors whose text in libuv is missing or does not fit a link. */
const MEANINGS: ReadonlyMap<number, readonly [name: string, meaning: string]> = new Map([
  [ENODEV, ['ENODEV', 'there is no such interface']],
  [ENXIO, ['ENXIO', 'the interface is gone']],
  [EBADFD, ['EBADFD', 'the interface is gone']],
  [ENETDOWN, ['ENETDOWN', 'the interface is down']],
  [EBUSY, ['EBUSY', 'another process uses it']],
  [ENOBUFS, ['ENOBUFS', 'the kernel has no room for it']],
]);
