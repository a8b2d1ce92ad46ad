/**
 * A message with a descriptor in it, over a Unix socket: SCM_RIGHTS, which Node has no call for. The other end gets the
 * descriptor in whatever namespaces it lives.
 */
import { EAGAIN, type Libc, MSG_DONTWAIT, MSG_NOSIGNAL, SOL_SOCKET } from './libc.ts';

/** Sends all of `bytes` with `descriptor`; false when the socket does not take them at once. */
export function sendWithDescriptor(libc: Libc, socket: number, bytes: Uint8Array, descriptor: number): boolean {
  const memory = new ArrayBuffer(CONTROL_AT + CONTROL_SPACE + bytes.length);
  const view = new DataView(memory);
  describe(view, libc.address(memory), bytes.length);
  // struct cmsghdr, and the descriptor behind it.
  view.setBigUint64(CONTROL_AT, CMSG_LENGTH, true);
  view.setInt32(CONTROL_AT + 8, SOL_SOCKET, true);
  view.setInt32(CONTROL_AT + 12, SCM_RIGHTS, true);
  view.setInt32(CONTROL_AT + 16, descriptor, true);
  new Uint8Array(memory).set(bytes, CONTROL_AT + CONTROL_SPACE);
  const sent = libc.sendmmsg(socket, memory, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent === 1 && view.getUint32(SENT_AT, true) === bytes.length;
}

/**
 * Receives at most `bytes.length` bytes and the descriptor that came with them, which is the caller's then: -1 when
 * there was none. Undefined when nothing is there yet, and a count of 0 when the other end is closed.
 */
export function receiveWithDescriptor(
  libc: Libc,
  socket: number,
  bytes: Uint8Array,
): { readonly count: number; readonly descriptor: number } | undefined {
  const memory = new ArrayBuffer(CONTROL_AT + CONTROL_SPACE + bytes.length);
  const view = new DataView(memory);
  describe(view, libc.address(memory), bytes.length);
  if (libc.recvmmsg(socket, memory, 1, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, null) !== 1)
    return libc.errno() === EAGAIN ? undefined : { count: 0, descriptor: -1 };
  const count = view.getUint32(SENT_AT, true);
  bytes.set(new Uint8Array(memory, CONTROL_AT + CONTROL_SPACE, Math.min(count, bytes.length)));
  const came =
    view.getBigUint64(CONTROL_LENGTH_AT, true) >= CMSG_LENGTH &&
    view.getInt32(CONTROL_AT + 8, true) === SOL_SOCKET &&
    view.getInt32(CONTROL_AT + 12, true) === SCM_RIGHTS;
  return { count, descriptor: came ? view.getInt32(CONTROL_AT + 16, true) : -1 };
}

/** Fills in a struct mmsghdr at the start of the memory: one part, and room for one descriptor. */
function describe(view: DataView, address: number, length: number): void {
  const pointer = (at: number, to: number): void => view.setBigUint64(at, BigInt(address + to), true);
  pointer(IOV_POINTER_AT, IOV_AT);
  view.setBigUint64(IOV_COUNT_AT, 1n, true);
  pointer(CONTROL_POINTER_AT, CONTROL_AT);
  view.setBigUint64(CONTROL_LENGTH_AT, BigInt(CONTROL_SPACE), true);
  pointer(IOV_AT, CONTROL_AT + CONTROL_SPACE);
  view.setBigUint64(IOV_AT + 8, BigInt(length), true);
}

const SCM_RIGHTS = 1;
const MSG_CMSG_CLOEXEC = 0x40_00_00_00;
const CMSG_LENGTH = 20n;
/** Offsets on 64-bit machines, of struct mmsghdr and of what follows it here. */
const IOV_POINTER_AT = 16;
const IOV_COUNT_AT = 24;
const CONTROL_POINTER_AT = 32;
const CONTROL_LENGTH_AT = 40;
const SENT_AT = 56;
const IOV_AT = 64;
const CONTROL_AT = 80;
const CONTROL_SPACE = 24;
