/**
 * A wire to this machine's own kernel: a TAP interface, made or attached to, with this process as the other end of the
 * cable.
 *
 *   tap:tap0            made when it is not there (MTU set, brought up), gone again when the link closes
 *   tap:tap0,persist    stays when the link closes
 *   tap:tap0            attached to, as it is, when it is there: `ip tuntap add tap0 mode tap user $USER` needs root once
 *
 * Bridged with a NIC or with another TAP it is a host of our own on that network. One read or write call is one frame
 * (ref:platform#3); an interface that is down is a cable that is not plugged in: what is sent is lost and counted, and
 * the link stays. One that is deleted ends the link. The kernel drops what we do not read in time (`txqueuelen` frames,
 * 1,000 on a TAP).
 */

import { existsSync } from 'node:fs';
import { defined } from '../../../packets/defined.ts';
import type { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { WHOLE_PACKETS } from '../../ground/link.ts';
import { capabilityRequirement } from './capability.ts';
import {
  DescriptorLink,
  type DescriptorPort,
  FrameAddresses,
  isOversize,
  MAX_HEADER_BYTES,
} from './descriptor-link.ts';
import { InterfaceRequest } from './interface-request.ts';
import type { LinkKind, LinkText, Requirement } from './kind.ts';
import {
  AF_INET,
  EAGAIN,
  EBADFD,
  EINVAL,
  EIO,
  ENOBUFS,
  type Libc,
  O_CLOEXEC,
  O_NONBLOCK,
  O_RDWR,
  SOCK_DGRAM,
  systemError,
} from './libc.ts';
import { linuxRequirement, packageRequirement } from './native-package.ts';
import { interfaceMtu, takeInterface } from './netdev.ts';

/** What a `TapLink` is made of. */
export interface TapLinkOptions {
  /** Name of the interface, at most 15 characters. */
  readonly name: string;
  /** Largest IP packet in bytes. Default the interface's when it is there already, 1,500 otherwise. */
  readonly mtu?: number;
  /** Whether the interface stays when the link closes. */
  readonly persist?: boolean;
}

/** Frames of a `TapLink`, by what became of them. */
export interface TapCounters {
  /** Frames that the kernel took. */
  sent: number;
  /** Frames that arrived and were handed on. */
  received: number;
  /** Sent while the interface was down or just deleted, and lost. */
  unplugged: number;
  /** Frames over the MTU, sent or received, and dropped. */
  oversize: number;
  /** Frames that the kernel refused for another reason, and dropped. */
  sendErrors: number;
}

export const tapKind: LinkKind = {
  name: 'tap',
  usage: 'NAME[,mtu=N][,persist]',
  summary: 'TAP interface of this machine, made or attached to',
  medium: Medium.Ethernet,
  ecn: WHOLE_PACKETS,
  requirements: async () => [
    linuxRequirement(),
    await packageRequirement('koffi', 'npm install koffi'),
    tunRequirement(),
    capabilityRequirement('CAP_NET_ADMIN'),
  ],
  open: (spec: LinkText) => {
    const mtu = spec.takeMtu();
    return new TapLink({
      name: takeInterface(spec),
      persist: spec.takeFlag('persist'),
      ...defined({ mtu }),
    });
  },
};

/**
 * The link of kind `tap`: an Ethernet interface of this machine whose other end is this process. Linux, CAP_NET_ADMIN.
 */
export class TapLink extends DescriptorLink {
  /** Since the link was made; they count on while it runs. */
  readonly counters: TapCounters = { sent: 0, received: 0, unplugged: 0, oversize: 0, sendErrors: 0 };
  readonly #options: TapLinkOptions;

  /** Makes the link; `start` makes the interface or attaches to it. */
  constructor(options: TapLinkOptions) {
    super(`tap:${options.name}`, options.mtu ?? interfaceMtu(options.name) ?? DEFAULT_MTU);
    this.#options = options;
  }

  protected override openPort(libc: Libc): DescriptorPort {
    const fd = openTap(libc, this.#options, this.mtu, this.name);
    return new TapPort(libc, fd, this.name, this.mtu, this.counters);
  }
}

class TapPort implements DescriptorPort, FrameBatch {
  readonly fd: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;
  readonly #libc: Libc;
  readonly #name: string;
  readonly #mtu: number;
  readonly #counters: TapCounters;
  readonly #address: number;
  /** Room per frame, a byte more than any that is not oversize. */
  readonly #stride: number;
  readonly #frames: FrameAddresses;

  constructor(libc: Libc, fd: number, name: string, mtu: number, counters: TapCounters) {
    this.fd = fd;
    this.#libc = libc;
    this.#frames = new FrameAddresses(libc);
    this.#name = name;
    this.#mtu = mtu;
    this.#counters = counters;
    this.#stride = Math.ceil((mtu + MAX_HEADER_BYTES + 1) / PAGE_BYTES) * PAGE_BYTES;
    const slab = new ArrayBuffer(BATCH_FRAMES * this.#stride);
    this.bytes = new Uint8Array(slab);
    this.view = new DataView(slab);
    this.#address = libc.address(slab);
  }

  send(batch: FrameBatch, from: number): number {
    for (let i = from; i < batch.count; i++) {
      const length = batch.lengths[i] as number;
      const address = this.#frames.of(batch, i);
      if (isOversize(batch.view, batch.starts[i] as number, length, this.#mtu)) this.#counters.oversize++;
      else if (this.#libc.write(this.fd, address, length) >= 0) this.#counters.sent++;
      else if (!this.#lost(this.#libc.errno())) return i - from;
    }
    return batch.count - from;
  }

  receive(): FrameBatch {
    this.count = 0;
    for (let slot = 0; slot < BATCH_FRAMES; slot++) {
      const start = slot * this.#stride;
      const length = this.#libc.read(this.fd, this.#address + start, this.#stride);
      // Nothing more, or an error, which the event loop reports as well.
      if (length < 0) break;
      if (isOversize(this.view, start, length, this.#mtu)) {
        this.#counters.oversize++;
        continue;
      }
      this.starts[this.count] = start;
      this.lengths[this.count] = length;
      this.count++;
    }
    this.#counters.received += this.count;
    return this;
  }

  release(): void {
    this.count = 0;
  }

  /**
   * An interface that was deleted leaves the descriptor in a bad state; nothing else sets an error
   * (linux:drivers/net/tun.c).
   */
  failure(): RoceError | undefined {
    if (this.#libc.read(this.fd, this.#address, this.#stride) >= 0) return undefined;
    const errno = this.#libc.errno();
    return errno === EAGAIN ? undefined : systemError('ERR_ROCE_CLOSED', errno, this.#name);
  }

  close(): void {
    this.#libc.close(this.fd);
  }

  /** Counts a frame that cannot be sent; false when it can be later. */
  #lost(errno: number): boolean {
    if (errno === EAGAIN || errno === ENOBUFS) return false;
    if (errno === EIO || errno === EBADFD) this.#counters.unplugged++;
    else this.#counters.sendErrors++;
    return true;
  }
}

/** A descriptor of the interface, which is made when it is not there. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
function openTap(libc: Libc, { name, persist }: TapLinkOptions, mtu: number, link: string): number {
  const control = libc.socket(AF_INET, SOCK_DGRAM | O_CLOEXEC, 0);
  const isNew = new InterfaceRequest(libc, name).index(control) < 0;
  const fd = libc.open(TUN_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  const fail = (errno: number, doing: string): RoceError => {
    if (fd >= 0) libc.close(fd);
    if (control >= 0) libc.close(control);
    return systemError('ERR_ROCE_LINK_UNAVAILABLE', errno, `${link}: ${doing}`, 'CAP_NET_ADMIN');
  };
  if (fd < 0) throw fail(libc.errno(), `opening ${TUN_PATH}`);
  const request = new InterfaceRequest(libc, name);
  const failed = request.attach(fd, IFF_TAP | IFF_NO_PI);
  if (failed === -EINVAL && !isNew) throw fail(EINVAL, `${name} is there, and is no TAP interface`);
  if (failed < 0) throw fail(-failed, isNew ? 'making the interface' : 'attaching to the interface');
  if (persist === true && libc.ioctl(fd, TUNSETPERSIST, 1) < 0) throw fail(libc.errno(), 'making the interface stay');
  if (isNew) {
    // A process that may create but not configure an interface can have it configured otherwise: it works then.
    request.setMtu(control, mtu);
    request.setUp(control);
  }
  libc.close(control);
  return fd;
}

function tunRequirement(): Requirement {
  const met = existsSync(TUN_PATH);
  return { what: TUN_PATH, met, remedy: met ? '' : 'load the kernel module tun, or give the container the device' };
}

const TUN_PATH = '/dev/net/tun';
const DEFAULT_MTU = 1500;
const BATCH_FRAMES = 64;
/** Frames start at whole pages, as those of `FrameWriter` do and for the same reason (ref:platform#6). */
const PAGE_BYTES = 4096;
const IFF_TAP = 0x00_02;
const IFF_NO_PI = 0x10_00;
const TUNSETPERSIST = 0x40_04_54_cb;
