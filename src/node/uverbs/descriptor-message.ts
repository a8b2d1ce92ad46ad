/**
 * A message with a descriptor in it, over a Unix socket: SCM_RIGHTS, which Node has no call for. The other end gets the
 * descriptor in whatever namespaces it lives.
 */
import { type Libc, MSG_DONTWAIT, MSG_NOSIGNAL, SOL_SOCKET } from '../links/libc.ts';

/** Sends all of `bytes` with `descriptor`; false when the socket does not take them at once. */
export function sendWithDescriptor(libc: Libc, socket: number, bytes: Uint8Array, descriptor: number): boolean {
  const memory = new ArrayBuffer(CONTROL_AT + CONTROL_SPACE + bytes.length);
  const view = new DataView(memory);
  const address = libc.address(memory);
  const pointer = (at: number, to: number): void => view.setBigUint64(at, BigInt(address + to), true);
  // struct mmsghdr: a struct msghdr, and how much of it was sent.
  pointer(IOV_POINTER_AT, IOV_AT);
  view.setBigUint64(IOV_COUNT_AT, 1n, true);
  pointer(CONTROL_POINTER_AT, CONTROL_AT);
  view.setBigUint64(CONTROL_LENGTH_AT, BigInt(CONTROL_SPACE), true);
  pointer(IOV_AT, CONTROL_AT + CONTROL_SPACE);
  view.setBigUint64(IOV_AT + 8, BigInt(bytes.length), true);
  // struct cmsghdr, and the descriptor behind it.
  view.setBigUint64(CONTROL_AT, 20n, true);
  view.setInt32(CONTROL_AT + 8, SOL_SOCKET, true);
  view.setInt32(CONTROL_AT + 12, SCM_RIGHTS, true);
  view.setInt32(CONTROL_AT + 16, descriptor, true);
  new Uint8Array(memory).set(bytes, CONTROL_AT + CONTROL_SPACE);
  const sent = libc.sendmmsg(socket, memory, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent === 1 && view.getUint32(SENT_AT, true) === bytes.length;
}

const SCM_RIGHTS = 1;
/** Offsets on 64-bit machines, of struct mmsghdr and of what follows it here. */
const IOV_POINTER_AT = 16;
const IOV_COUNT_AT = 24;
const CONTROL_POINTER_AT = 32;
const CONTROL_LENGTH_AT = 40;
const SENT_AT = 56;
const IOV_AT = 64;
const CONTROL_AT = 80;
const CONTROL_SPACE = 24;
