/**
 * Links by name, as typed on a command line: `kind:target[,option...]`. A new kind is one file and one line of
 * `LINK_KINDS`.
 */

import type { Link } from '../../ground/link.ts';
import type { LinkKind } from './kind.ts';
import { LinkText } from './kind.ts';
import { loopbackKind } from './loopback.ts';
import { packetRingKind } from './packet-ring.ts';
import { pcapKind } from './pcap.ts';
import { qemuKind } from './qemu.ts';
import { rawSocketKind } from './raw-socket.ts';
import { shmKind } from './shm.ts';
import { tapKind } from './tap.ts';
import { udpOffloadKind } from './udp-offload.ts';
import { udp6Kind } from './udp6.ts';

export { type Link, type LinkEcn, type LinkSink, readsEcn, setsEcn } from '../../ground/link.ts';
export { CaptureLink, type CaptureSink } from './capture.ts';
export type { LinkKind, Requirement } from './kind.ts';
export { LoopbackLink } from './loopback.ts';
export { type PacketRingCounters, PacketRingLink, type PacketRingLinkOptions } from './packet-ring.ts';
export { PcapLink, type PcapLinkOptions } from './pcap.ts';
export { QemuLink, type QemuLinkOptions } from './qemu.ts';
export { RawSocketLink, type RawSocketLinkOptions } from './raw-socket.ts';
export { ShmLink, type ShmLinkOptions } from './shm.ts';
export { TapLink, type TapLinkOptions } from './tap.ts';
export { UdpOffloadLink } from './udp-offload.ts';
export { Udp6Link } from './udp6.ts';

/** Every kind of link, in the order in which `roce links` shows them. */
export const LINK_KINDS: readonly LinkKind[] = [
  qemuKind,
  pcapKind,
  rawSocketKind,
  udp6Kind,
  udpOffloadKind,
  tapKind,
  packetRingKind,
  shmKind,
  loopbackKind,
];

/** Options of `openLink` that hold for every kind. */
export interface LinkOptions {
  /** Largest IP packet in bytes, 68 .. 65,535; `mtu=` in the specification wins. */
  readonly mtu?: number;
}

/** Makes a link, not started yet. @throws RoceError ERR_ROCE_ARGUMENT; the message lists the kinds */
export function openLink(text: string, options: LinkOptions = {}): Link {
  const kind = LINK_KINDS.find(({ name }) => text.startsWith(`${name}:`));
  const spec = new LinkText(text, kind === undefined ? linkUsage() : usageOf(kind), options.mtu);
  if (kind === undefined) throw spec.error('unknown kind of link');
  if (spec.target === '') throw spec.error('nothing after the colon');
  const link = kind.open(spec);
  spec.done();
  return link;
}

/** How each kind is typed, for the help of a command. */
export function linkUsage(): string {
  return LINK_KINDS.map(usageOf).join(', ');
}

function usageOf({ name, usage }: LinkKind): string {
  return `${name}:${usage}`;
}
