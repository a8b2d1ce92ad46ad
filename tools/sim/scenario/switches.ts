/**
 * `switches` and `host` of a scenario: what stands between the hosts, and how hosts send. Owns names, words and ranges
 * of the fields.
 */
import { z } from 'zod';
import { choice, count, priority, share, sizeBytes, timeNs } from './fields.ts';

const ecnSchema = z
  .strictObject({
    kminBytes: sizeBytes('Nothing is marked up to this length of the queue.'),
    kmaxBytes: sizeBytes('Everything is marked above this length.'),
    pmax: share('Share of packets marked at `kmaxBytes`; in between it rises in proportion.'),
  })
  .refine(({ kminBytes, kmaxBytes }) => kminBytes <= kmaxBytes, {
    path: ['kmaxBytes'],
    error: 'kmaxBytes of at least kminBytes is expected',
  })
  .meta({
    description:
      'RED marking at departure, by the length of the egress queue of the priority. Absent: nothing is marked.',
  });

export const switchesSchema = z
  .strictObject({
    forwarding: choice('When a switch passes a frame on: whole, or as soon as its headers are there.', [
      'store-and-forward',
      'cut-through',
    ]).default('store-and-forward'),
    flowControl: choice(
      'What keeps buffers from running over: nothing, pauses per priority (802.1Qbb), or credits per link as InfiniBand has them.',
      ['none', 'pfc', 'credits'],
    ).default('none'),
    bufferBytes: sizeBytes(
      'Shared buffer of each switch; default 32 MB for ports of 100 Gb/s and in proportion.',
      1000,
    ).exactOptional(),
    losslessPriorities: z
      .array(priority('A priority.'))
      .default([3])
      .meta({ description: 'Priorities that PFC protects; with credits every one is.' }),
    ecn: ecnSchema.exactOptional(),
    ecnPriorities: z
      .array(priority('A priority.'))
      .exactOptional()
      .meta({ description: 'Priorities in which packets are marked; default all.' }),
    headroomBytes: sizeBytes(
      'Buffer of each port for what arrives after a pause was sent; default by rate and delay of the link.',
    ).exactOptional(),
    pfcShift: count(
      'A port is paused at (free shared buffer) >> pfcShift; default by the rate of the link.',
      0,
      30,
    ).exactOptional(),
    staticXoffBytes: sizeBytes(
      'A port is paused at this many bytes, in place of the dynamic threshold.',
    ).exactOptional(),
    lossyAlpha: z
      .number()
      .gt(0, 'A number above 0 is expected')
      .exactOptional()
      .meta({ description: 'A lossy queue may hold this times what is free of the shared buffer; default 1.' }),
    creditBytes: sizeBytes('Buffer behind each link and priority, which credits stand for.', 64).exactOptional(),
    processingNs: timeNs('How long a switch thinks about a frame.').exactOptional(),
    deadlockAfterNs: timeNs(
      'Ports that wait for each other in a circle for this long are a deadlock.',
      1,
    ).exactOptional(),
  })
  .meta({ description: 'What every switch is like.' });

export const hostSchema = z
  .strictObject({
    ackEveryPackets: count('Every so many packets ask for an ACK.', 1, 65_536).default(1),
    maxUnacked: count('Packets that may be sent and not acknowledged; 65,536 is no window.', 1, 65_536).default(65_536),
    messageBytes: sizeBytes('Of one work request; default 1 MiB, and 64 KiB for endless flows.', 1).exactOptional(),
    aheadBytes: sizeBytes('Posted ahead of the ACKs.', 1).default(1 << 24),
    ackTimeout: count('Local ACK timeout, a code: 4.096 us x 2^code.', 1, 31).default(10),
    retryCount: count('Timeouts and NAKs in a row without progress before a flow fails.', 0, 7).default(7),
    nicQueueFrames: count(
      'Frames that wait in a NIC for the wire; these cannot be slowed down any more.',
      1,
      1000,
    ).default(1),
  })
  .meta({ description: 'How hosts send.' });
