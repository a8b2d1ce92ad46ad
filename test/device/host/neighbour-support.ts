/** Our neighbours and those of a peer, back to back, and what passes between them. */
import { formatMac, IpAddress, IpPrefix, parseMac } from '../../../packets/address.ts';
import { Frame, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import type { FrameEndpoint } from '../../../src/device/host/neighbour-frames.ts';
import { Neighbours, type NeighboursOptions } from '../../../src/device/host/neighbours.ts';

export const ip = (text: string): IpAddress => IpAddress.parse(text);
export const OUR_MAC = parseMac('02:00:00:00:00:01');
export const PEER_MAC = parseMac('02:00:00:00:00:02');
export const EVIL_MAC = parseMac('02:66:66:66:66:66');
export const PEER: FrameEndpoint = { mac: PEER_MAC, address: ip('10.0.0.2') };
export const PEER6: FrameEndpoint = { mac: PEER_MAC, address: ip('fe80::2') };
export const US: FrameEndpoint = { mac: OUR_MAC, address: ip('10.0.0.1') };
export const US6: FrameEndpoint = { mac: OUR_MAC, address: ip('fe80::1') };
export const SECOND = 1e9;

export function ours(options: Partial<NeighboursOptions> = {}): Neighbours {
  const addresses = ['10.0.0.1/24', 'fe80::1/64', '2001:db8::1/64'].map((text) => IpPrefix.parse(text));
  return new Neighbours({ mac: OUR_MAC, addresses, ...options });
}

export function theirs(): Neighbours {
  return new Neighbours({ mac: PEER_MAC, addresses: [IpPrefix.parse('10.0.0.2/24'), IpPrefix.parse('fe80::2/64')] });
}

export function give(neighbours: Neighbours, bytes: Uint8Array, now = 0): void {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
  neighbours.handleFrame(now, frame, status);
}

export function take(neighbours: Neighbours, now = 0): Uint8Array[] {
  const writer = new FrameWriter(64, 2048);
  neighbours.poll(now, writer);
  return Array.from({ length: writer.count }, (_, i) => {
    const start = writer.starts[i] ?? 0;
    return writer.bytes.slice(start, start + (writer.lengths[i] ?? 0));
  });
}

/** Carries frames to and fro until both are silent. */
export function converse(a: Neighbours, b: Neighbours): void {
  for (let round = 0; round < 10; round++) {
    for (const bytes of take(a)) give(b, bytes);
    for (const bytes of take(b)) give(a, bytes);
  }
}

/** Whole answers, for comparison; they hold an IpAddress and a MAC in text. */
export function results(neighbours: Neighbours): string[] {
  const found: string[] = [];
  for (let next = neighbours.pollResolved(); next !== undefined; next = neighbours.pollResolved()) {
    found.push(`${next.address} ${next.mac === undefined ? 'unreachable' : formatMac(next.mac)}`);
  }
  return found;
}

export function known(neighbours: Neighbours, text: string): string | undefined {
  const mac = neighbours.lookup(ip(text));
  return mac === undefined ? undefined : formatMac(mac);
}
