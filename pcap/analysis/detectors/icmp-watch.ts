/**
 * What the network says by ICMP about requests that get no response.
 *
 * Owns the bounded memory of such messages, by sender and receiver of the packets that they are about, and the sentence
 * and advice for them. "Packet too big" is left to `mtu-mismatch`. Reports nothing itself.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import type { PacketFacts } from '../facts.ts';
import { FrameList } from './frame-list.ts';
import { type IcmpError, type IcmpKind, icmpError } from './icmp-error.ts';
import { listed, qpName, times } from './words.ts';

/** All messages of one kind by one reporter about packets from one host to another. */
export interface IcmpReport {
  /** The first one. */
  readonly error: IcmpError;
  readonly frames: FrameList;
}

export class IcmpWatch {
  readonly #reports = new Map<string, IcmpReport>();

  packet({ dissection, packet }: PacketFacts): void {
    if (dissection.status !== FrameStatus.NotUdp) return;
    const error = icmpError(dissection);
    if (error === undefined || error.kind === 'too-big') return;
    const key = `${error.source} ${error.destination} ${error.reporter} ${error.says}`;
    let report = this.#reports.get(key);
    if (report === undefined) {
      if (this.#reports.size >= MOST_REPORTS) return;
      report = { error, frames: new FrameList() };
      this.#reports.set(key, report);
    }
    report.frames.add(packet.number);
  }

  /** About packets from one address to another. */
  about(source: string, destination: string): IcmpReport[] {
    if (this.#reports.size === 0) return [];
    return this.all().filter(({ error }) => error.source === source && error.destination === destination);
  }

  /** In the order of their appearance. */
  all(): IcmpReport[] {
    return [...this.#reports.values()];
  }
}

/** " 10.0.0.2 says by ICMP why: port unreachable (8 times, of a packet to queue pair 0x000011)." */
export function icmpWords(reports: readonly IcmpReport[]): string {
  return reports
    .slice(0, MOST_SAID)
    .map(({ error: { reporter, says, destQpn }, frames }) => {
      const about = destQpn < 0 ? '' : `, first of a packet to ${qpName(destQpn)}`;
      return ` ${reporter} says by ICMP: ${says} (${times(frames.count)}${about}).`;
    })
    .join('');
}

/** For evidence. */
export function icmpEvidence(reports: readonly IcmpReport[]): Record<string, number | readonly string[]> {
  if (reports.length === 0) return {};
  return {
    icmp: reports.slice(0, MOST_SAID).map(({ error }) => error.says),
    icmpFrom: reports.slice(0, MOST_SAID).map(({ error }) => error.reporter),
    icmpMessages: reports.reduce((sum, { frames }) => sum + frames.count, 0),
  };
}

/** What to do about them, before anything else. */
export function icmpAdvice(reports: readonly IcmpReport[]): string[] {
  return [...new Set(reports.map(({ error }) => error.kind))].map((kind) => {
    const reporters = reports.filter(({ error }) => error.kind === kind).map(({ error }) => error.reporter);
    return ADVICE[kind].replace('WHO', listed([...new Set(reporters)].slice(0, MOST_SAID)));
  });
}

const ADVICE: Readonly<Record<IcmpKind, string>> = {
  port: 'Nothing takes RoCE v2 at WHO: look there whether the RDMA device of this address exists and is up (rdma link, show_gids).',
  host: 'Look at routes, neighbours and links of WHO towards the other host.',
  prohibited: 'A firewall rejects the packets at WHO: let UDP port 4791 through.',
  'hop-limit': 'Raise the hop limit of the address vector (64, say), and look for a loop of routes at WHO.',
  'too-big': 'Lower the path MTU.',
};
const MOST_REPORTS = 256;
const MOST_SAID = 3;
