/**
 * Symptom: two ends with GIDs that do not go together, of different types or networks, so that neither receives the
 * other's packets.
 *
 * Owns the finding; `gid-watch.ts` owns the evidence and its limits. It is an error: nothing gets through.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import { mergedFrames } from './frame-list.ts';
import { type GidMismatch, GidWatch, type UnansweredDirection } from './gid-watch.ts';
import { counted } from './words.ts';

export const GID_MISMATCH: Symptom = {
  id: 'gid-mismatch',
  row: 10,
  title: 'GIDs of different kinds',
  complaint:
    'The program hangs with no traffic or ends with transport retry counter exceeded; the usual advice is to try another GID index.',
  about:
    'A GID index chooses what packets look like: RoCE version 1 or 2, IPv4 or IPv6, link-local or global addresses. Each end takes an index of its ' +
    'own, and the same index is another GID on another host. When the two are of different kinds or networks, each end sends what the other does ' +
    'not listen for, or drops as coming from a stranger.',
  advice: [
    'Take GIDs of the same kind and network at both ends, best the RoCE v2 GID of an IPv4 or global IPv6 address; the index differs from host to host.',
    'Let rdma_cm choose (`-R` in perftest, rping), which takes the GID of the address that is connected to.',
  ],
  commands: ['show_gids', 'ibv_devinfo -v | grep GID', 'cat /sys/class/infiniband/DEV/ports/1/gid_attrs/types/INDEX'],
  explains: ['no-reply'],
  make: () => new GidMismatchDetector(),
};

class GidMismatchDetector implements Detector {
  readonly interest = PacketKind.Other;
  readonly #watch = new GidWatch();

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
  }

  finish(context: DetectorContext): void {
    for (const mismatch of this.#watch.finish(context)) report(context, mismatch);
  }
}

function report(context: DetectorContext, { there, back, all }: GidMismatch): void {
  const [mine, theirs] = [there, back].map(({ from }) => all.filter((each) => each.from === from));
  const packets = (from: readonly UnansweredDirection[] = []) =>
    from.reduce((sum, { frames: { count } }) => sum + count, 0);
  const frames = (from: readonly UnansweredDirection[] = []) =>
    mergedFrames(from.map((each) => each.frames.frames)).slice(0, FRAMES_OF_EACH);
  const sent = ({ kind, sourceGid, destinationGid }: UnansweredDirection, count: number): string =>
    `sends ${kind} (GID ${sourceGid} to ${destinationGid}, ${counted(count, 'packet')})`;
  const why =
    there.kind === back.kind
      ? 'because the address that one sends to is not the one that the other sends from'
      : 'because their GIDs are of different types';
  context.report({
    severity: 'error',
    text:
      `Two hosts do not reach each other: ${macOf(there.from)} ${sent(there, packets(mine))} and ` +
      `${macOf(back.from)} ${sent(back, packets(theirs))}; neither ever responds, ${why}.`,
    frames: mergedFrames([frames(mine), frames(theirs)]),
    frameCount: packets(all),
    conversations: all.map(({ conversation }) => conversation?.id ?? 0).filter((id) => id > 0),
    evidence: {
      kinds: [there.kind, back.kind],
      sourceGids: [there.sourceGid, back.sourceGid],
      destinationGids: [there.destinationGid, back.destinationGid],
      stations: [macOf(there.from), macOf(back.from)],
    },
  });
}

/** A MAC address as text. */
function macOf(station: number): string {
  return station
    .toString(16)
    .padStart(12, '0')
    .replace(/..(?=.)/g, '$&:');
}

const FRAMES_OF_EACH = 10;
