/**
 * Goal: sound traffic gives no alarm, however little of it a capture has: begun in the middle, ended in the middle,
 * with packets that the capture lost, with one direction only, cut to headers, or shifted by gaps in time.
 * Method: captures of real rdma_rxe and sound scenes, whole and maimed in seeded ways; every finding beyond a note is a
 * failure.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { CapturedPacket } from '../../../../pcap/index.ts';
import { Prng } from '../../../../src/sim/index.ts';
import { allScenes } from '../../../../tools/symptoms/index.ts';
import { RXE_CAPTURES, rxeCapture } from '../../../vectors/captures.ts';
import { alarms, analyze, packetsOf } from './support.ts';

/** Those in which nothing at all goes wrong. */
const SOUND = [
  'sequence-error-wrap',
  'implied-nak-sound-reads',
  'invalid-request-exact-receive',
  'gid-mismatch-both-kinds-work',
  'mtu-mismatch-same',
  'vlan-mismatch-trunk-works',
];

interface Named {
  readonly name: string;
  readonly packets: readonly CapturedPacket[];
}

const captures: Named[] = [];

beforeAll(async () => {
  for (const name of RXE_CAPTURES) captures.push({ name, packets: packetsOf(rxeCapture(name)) });
  for (const scene of allScenes().filter(({ name }) => SOUND.includes(name))) {
    captures.push({ name: scene.name, packets: packetsOf(await scene.make()) });
  }
});

function alarmsOf(packets: readonly CapturedPacket[]): string[] {
  // Numbers as in a file of its own.
  return alarms(analyze(packets.map((packet, index) => ({ ...packet, number: index + 1 })))).map(
    ({ id, severity, text }) => `${severity} ${id}: ${text}`,
  );
}

describe('sound captures', () => {
  it('are those that are meant', () => {
    expect(captures.map(({ packets }) => packets.length >= 20)).toEqual(captures.map(() => true));
  });

  it('give no alarm as they are', () => {
    for (const { name, packets } of captures) expect([name, alarmsOf(packets)]).toEqual([name, []]);
  });

  it('give none when they begin or end anywhere', () => {
    const random = new Prng(11);
    for (const { name, packets } of captures) {
      for (let round = 0; round < 10; round++) {
        const from = random.below(packets.length);
        const to = from + 1 + random.below(packets.length - from);
        expect([name, from, to, alarmsOf(packets.slice(from, to))]).toEqual([name, from, to, []]);
      }
    }
  });

  it('give none when the capture lost packets', () => {
    const random = new Prng(12);
    for (const { name, packets } of captures) {
      for (const loss of [0.001, 0.01, 0.05, 0.2]) {
        const kept = packets.filter(() => !random.chance(loss));
        expect([name, loss, alarmsOf(kept)]).toEqual([name, loss, []]);
      }
    }
  });

  it('give none when the capture lost bursts of packets', () => {
    const random = new Prng(13);
    for (const { name, packets } of captures) {
      let skip = 0;
      const kept = packets.filter(() => {
        if (skip === 0 && random.chance(0.01)) skip = 1 + random.below(40);
        if (skip > 0) skip--;
        return skip === 0;
      });
      expect([name, alarmsOf(kept)]).toEqual([name, []]);
    }
  });

  it('give none when one direction is missing', () => {
    for (const { name, packets } of captures) {
      const source = ({ bytes }: CapturedPacket): number => bytes[11] ?? 0;
      for (const station of new Set(packets.map(source))) {
        const kept = packets.filter((packet) => source(packet) === station);
        expect([name, station, alarmsOf(kept)]).toEqual([name, station, []]);
      }
    }
  });

  it('give none when packets are cut to their headers', () => {
    for (const { name, packets } of captures) {
      const cut = packets.map((packet) => ({ ...packet, bytes: packet.bytes.subarray(0, 96) }));
      expect([name, alarmsOf(cut)]).toEqual([name, []]);
    }
  });
});
