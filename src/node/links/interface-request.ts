/**
 * Reads and sets properties of a network interface, by ioctl on any socket of its namespace (man 7 netdevice). Owns the
 * structure `ifreq`: the name in 16 bytes, then a union.
 */
import type { Libc } from './libc.ts';

export class InterfaceRequest {
  readonly #libc: Libc;
  readonly #bytes = new Uint8Array(new ArrayBuffer(IFREQ_BYTES));
  readonly #view = new DataView(this.#bytes.buffer);

  /** @param name at most 15 bytes of ASCII; `tap%d` has the kernel complete it */
  constructor(libc: Libc, name: string) {
    this.#libc = libc;
    for (let i = 0; i < Math.min(name.length, IFNAME_BYTES - 1); i++) this.#bytes[i] = name.charCodeAt(i);
  }

  /** Interface index, or a negative errno. */
  index(fd: number): number {
    return this.#ask(fd, SIOCGIFINDEX) || this.#view.getInt32(UNION_AT, true);
  }

  /** Largest IP packet in bytes, or a negative errno. */
  mtu(fd: number): number {
    return this.#ask(fd, SIOCGIFMTU) || this.#view.getInt32(UNION_AT, true);
  }

  /** IFF_ bits, or a negative errno. */
  flags(fd: number): number {
    return this.#ask(fd, SIOCGIFFLAGS) || this.#view.getUint16(UNION_AT, true);
  }

  /** ARPHRD_ number of the interface, or a negative errno. */
  hardwareType(fd: number): number {
    return this.#ask(fd, SIOCGIFHWADDR) || this.#view.getUint16(UNION_AT, true);
  }

  /** 0, or a negative errno. */
  setMtu(fd: number, mtu: number): number {
    this.#view.setInt32(UNION_AT, mtu, true);
    return this.#ask(fd, SIOCSIFMTU);
  }

  /** 0, or a negative errno. */
  setUp(fd: number): number {
    const flags = this.flags(fd);
    if (flags < 0) return flags;
    this.#view.setUint16(UNION_AT, flags | IFF_UP, true);
    return this.#ask(fd, SIOCSIFFLAGS);
  }

  /**
   * Makes `fd`, of /dev/net/tun, the end of a TUN or TAP interface; 0, or a negative errno
   * (linux:Documentation/networking/tuntap).
   */
  attach(fd: number, flags: number): number {
    this.#view.setUint16(UNION_AT, flags, true);
    return this.#ask(fd, TUNSETIFF);
  }

  #ask(fd: number, request: number): number {
    return this.#libc.ioctl(fd, request, this.#bytes) < 0 ? -this.#libc.errno() : 0;
  }
}

export const IFF_UP = 0x1;

const IFREQ_BYTES = 40;
const IFNAME_BYTES = 16;
const UNION_AT = IFNAME_BYTES;
const SIOCGIFFLAGS = 0x89_13;
const SIOCSIFFLAGS = 0x89_14;
const SIOCGIFMTU = 0x89_21;
const SIOCSIFMTU = 0x89_22;
const SIOCGIFHWADDR = 0x89_27;
const SIOCGIFINDEX = 0x89_33;
const TUNSETIFF = 0x40_04_54_ca;
