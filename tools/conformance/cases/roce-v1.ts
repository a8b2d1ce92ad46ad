/**
 * The same packet as RoCE of the first version: Ethernet, GRH and BTH, without IP and UDP. For stimuli only; we do not
 * support it. Source: ref:wire#1 (EtherType), ref:wire#6 (GRH); the ICRC as that of RoCEv2, over ones in place of the
 * LRH and the GRH.
 */

import type { Packet } from 'rocev2/packets/kit';
import { ETHERTYPE_AT, ETHERTYPE_ROCE_V1 } from 'rocev2/packets/network';
import type { TesterPeer } from '../tester/peer.ts';
import { icrcOver } from './edits.ts';

/** The frame. Its GIDs are the addresses of the connection. */
export function roceV1(peer: TesterPeer, packet: Packet): Uint8Array {
  let frame = new Uint8Array(0);
  peer.frame({
    ...packet,
    spoil: ({ bytes, ip, udp, bth }) => {
      const six = udp - ip === 40;
      const behind = bytes.subarray(bth);
      frame = new Uint8Array(ip + GRH_BYTES + behind.length);
      frame.set(bytes.subarray(0, ip));
      frame.set(behind, ip + GRH_BYTES);
      const view = new DataView(frame.buffer);
      view.setUint16(ETHERTYPE_AT, ETHERTYPE_ROCE_V1);
      view.setUint32(ip, 0x60_00_00_00);
      view.setUint16(ip + 4, behind.length);
      view.setUint8(ip + 6, NEXT_IS_BTH);
      view.setUint8(ip + 7, 64);
      const addresses = six ? bytes.slice(ip + 8, ip + 40) : mapped(bytes.slice(ip + 12, ip + 20));
      frame.set(addresses, ip + 8);
      seal(frame, ip);
      return undefined;
    },
  });
  return frame;
}

/** Two IPv4 addresses as GIDs. */
function mapped(addresses: Uint8Array): Uint8Array {
  const gids = new Uint8Array(32);
  for (const i of [0, 1]) {
    gids.fill(0xff, 16 * i + 10, 16 * i + 12);
    gids.set(addresses.subarray(4 * i, 4 * i + 4), 16 * i + 12);
  }
  return gids;
}

/** Traffic class, flow label and hop limit count as ones; the version does not. */
function seal(frame: Uint8Array, grh: number): void {
  const bth = grh + GRH_BYTES;
  frame[grh] = 0x6f;
  icrcOver(frame, [[grh, frame.length - 4]], [grh + 1, grh + 2, grh + 3, grh + 7, bth + 4], frame.length - 4);
  frame[grh] = 0x60;
}

const GRH_BYTES = 40;
const NEXT_IS_BTH = 0x1b;
