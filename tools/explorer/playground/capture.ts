/**
 * A session as a capture: packets for the analysis, and a pcapng file. Owns which packet was seen where and the
 * comments that say what the network did; the formats are pcap's.
 */

import { type CapturedPacket, Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import type { Flight } from './flight.ts';
import { hostName } from './scenario.ts';

/**
 * Where one looks from: at every packet as it is sent, lost ones too; or at what the network card of one host sends and
 * receives.
 */
export type Vantage = 'wire' | number;

/** Packets in the order in which they were seen there. Their bytes are the session's: not to be changed. */
export function capturedPackets(flights: readonly Flight[], vantage: Vantage): CapturedPacket[] {
  const sightings = flights.flatMap((flight) => sightingsOf(flight, vantage));
  sightings.sort((a, b) => a.timeNs - b.timeNs);
  return sightings.map(({ timeNs, bytes, direction, comments }, index) => ({
    number: index + 1,
    seconds: Math.floor(timeNs / 1e9),
    nanoseconds: timeNs % 1e9,
    ...{ bytes, originalLength: bytes.length, linkType: LinkType.Ethernet, interfaceIndex: 0, direction, comments },
  }));
}

/** The same as a pcapng file. `comment` is about the whole of it. */
export function pcapngOf(flights: readonly Flight[], vantage: Vantage, comment: string): Uint8Array {
  const writer = new PcapngWriter({ application: 'rocev2 playground', comment });
  const name = vantage === 'wire' ? 'wire' : hostName(vantage);
  const index = writer.addInterface({ name, linkType: LinkType.Ethernet });
  for (const { bytes, seconds, nanoseconds, direction, comments } of capturedPackets(flights, vantage))
    writer.packet(index, bytes, 0, bytes.length, seconds, nanoseconds, { direction, comments });
  return writer.take();
}

interface Sighting {
  readonly timeNs: number;
  readonly bytes: Uint8Array;
  readonly direction: Direction;
  readonly comments: readonly string[];
}

function sightingsOf(flight: Flight, vantage: Vantage): Sighting[] {
  const { from, to, sentNs, arrivesNs, bytes, lastBytes, state, copyOf } = flight;
  if (vantage === 'wire') {
    return [
      {
        timeNs: sentNs,
        bytes: copyOf === 0 ? bytes : lastBytes,
        direction: Direction.Unknown,
        comments: commentsOn(flight),
      },
    ];
  }
  const seen: Sighting[] = [];
  if (from === vantage && copyOf === 0)
    seen.push({ timeNs: sentNs, bytes, direction: Direction.Outbound, comments: [] });
  if (to === vantage && state === 'delivered')
    seen.push({ timeNs: arrivesNs, bytes: lastBytes, direction: Direction.Inbound, comments: [] });
  return seen;
}

function commentsOn({ state, lossReason, fate, copyOf, marked }: Flight): string[] {
  const comments: string[] = [];
  if (copyOf > 0) comments.push('a copy that the network made');
  if (state === 'lost') comments.push(`lost on its way: ${lossReason}`);
  for (const { action } of fate) if (action === 'corrupt' || action === 'delay') comments.push(COMMENTS[action]);
  if (marked) comments.push('marked Congestion Experienced on its way');
  return comments;
}

const COMMENTS = { corrupt: 'damaged on its way', delay: 'held back on its way' } as const;
