/**
 * Symptom: packets of one connection travel in different traffic classes, so that one direction or one part of the path
 * is neither lossless nor ECN-marked.
 *
 * Owns four findings about connected services. Each needs at least 8 packets of which 9 in 10 carry the same value:
 * - the two directions of a connection carry different DSCPs: a warning;
 * - the same packets carry another DSCP at another interface of the capture (rewritten on the way): a warning;
 * - the VLAN priority is not that of the DSCP (DSCP / 8, the usual mapping): a note, and a warning when that connection
 *   loses packets, since the switch may use either;
 * - an unusual DSCP, neither 24 nor 26: a note. DSCP 0 alone gives no finding. A connection with DSCP 0 that loses
 *   packets while others of the capture have 24 or 26, or while there are pauses, is outside the lossless class: a
 *   warning.
 * rdma_rxe and most labs use 0 everywhere, which gives no finding.
 * Rules: ref:analyzer#1 row 15, ref:wire#2 (RoCE 26 or 24, CNP 48 are usual).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { type PacketFacts, Role } from '../facts.ts';
import { ALL_KINDS, PacketKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { mergedFrames } from './frame-list.ts';
import { counted, listed } from './words.ts';

export const DSCP_MISMATCH: Symptom = {
  id: 'dscp-mismatch',
  row: 15,
  title: 'Traffic in the wrong class',
  complaint: 'Bandwidth is low and packets are lost although PFC and ECN are set up; often in one direction only.',
  about:
    'Switches put a packet into a queue by its DSCP or by the priority of its VLAN tag. Only the queue that was set up for RoCE is lossless and marks ' +
    'packets. Each side chooses the class of what it sends itself, so a host that was forgotten answers in another class than it is asked in, and ' +
    'a switch that does not trust DSCP rewrites it.',
  advice: [
    'Set the same traffic class on all hosts: 106 is DSCP 26 with ECT(0); for connections of rdma_cm with cma_roce_tos, for others in the address vector.',
    'Let switches and hosts trust DSCP (mlnx_qos --trust=dscp), and map the same DSCP to the same priority everywhere.',
  ],
  commands: [
    'cma_roce_tos -d DEV',
    'mlnx_qos -i DEV',
    'dcb app show dev DEV',
    'cat /sys/class/infiniband/DEV/tc/1/traffic_class',
  ],
  make: () => new DscpMismatch(),
};

class DscpMismatch implements Detector {
  readonly interest = ALL_KINDS & ~PacketKind.Cnp;
  /** First packet of each end of each conversation that is no CNP, 0: none. Index 2 * id + end; has no holes. */
  readonly #firstFrames: number[] = [];

  packet({ conversation, role, sender, packet }: PacketFacts): void {
    if (conversation === undefined || role === Role.Cnp || role === Role.None) return;
    const index = 2 * conversation.id + sender;
    while (this.#firstFrames.length <= index) this.#firstFrames.push(0);
    if (this.#firstFrames[index] === 0) this.#firstFrames[index] = packet.number;
  }

  finish(context: DetectorContext): void {
    const connected = context.conversations.filter(({ service }) => service !== 'UD');
    const byDirection: ConversationDscp[] = [];
    const byPriority: ConversationDscp[] = [];
    const leftOut: ConversationDscp[] = [];
    const unusual: ConversationDscp[] = [];
    const qos = usesClasses(context, connected);
    const rewritten = this.#reportRewritten(context, connected);
    for (const conversation of connected) {
      const classes = conversationDscp(conversation);
      if (classes === undefined || rewritten.has(conversation.id)) continue;
      const { dscps, priorities } = classes;
      if (dscps[0] !== dscps[1]) {
        // Seen by several interfaces, it is one mistake.
        if (conversation.sameAs === 0) byDirection.push(classes);
      } else if (priorities[0] >= 0 && priorities[0] !== dscps[0] >> 3) byPriority.push(classes);
      else if (dscps[0] === 0 && qos && loses(conversation)) leftOut.push(classes);
      else if (dscps[0] !== 0 && !USUAL.includes(dscps[0])) unusual.push(classes);
    }
    this.#reportDirections(context, byDirection);
    this.#reportPriorities(context, byPriority);
    this.#reportLeftOut(context, leftOut);
    this.#reportUnusual(context, unusual);
  }

  #framesOf(entries: readonly { readonly conversation: ConversationReport }[]): number[] {
    return mergedFrames(
      entries.map(({ conversation: { id } }) => [this.#firstFrames[2 * id] ?? 0, this.#firstFrames[2 * id + 1] ?? 0]),
    );
  }

  #reportDirections(context: DetectorContext, entries: readonly ConversationDscp[]): void {
    for (const same of groupsOf(entries, ({ conversation: { ends }, dscps }) =>
      [`${ends[0].address} ${dscps[0]}`, `${ends[1].address} ${dscps[1]}`].sort().join(' '),
    )) {
      const [{ conversation, dscps } = NO_ENTRY] = same;
      if (conversation === undefined) continue;
      const [a, b] = conversation.ends;
      const lossy = same.some((classes) => loses(classes.conversation));
      context.report({
        severity: 'warning',
        text: `${a.address} sends with DSCP ${dscps[0]} to ${b.address}, which answers with DSCP ${dscps[1]}${same.length > 1 ? `, on ${same.length} connections` : ''}: the two directions travel in different classes${lossy ? ', and packets are lost' : ''}.`,
        frames: this.#framesOf(same),
        conversations: same.map((classes) => classes.conversation.id),
        evidence: {
          addresses: [a.address, b.address],
          dscps: [...dscps],
          connections: same.length,
          lossy: lossy ? 'yes' : 'no',
        },
      });
    }
  }

  /** @returns the conversations that it is about */
  #reportRewritten(context: DetectorContext, connected: readonly ConversationReport[]): Set<number> {
    const byId = new Map(connected.map((conversation) => [conversation.id, conversation]));
    const found = new Map<string, RewrittenDscp[]>();
    for (const conversation of connected) {
      const original = byId.get(conversation.sameAs);
      if (original === undefined) continue;
      for (const end of conversation.ends) {
        const before = original.ends.find(({ address, qpn }) => address === end.address && qpn === end.qpn);
        if (before === undefined) continue;
        const dscps = [mainDscp(before), mainDscp(end)].sort((a, b) => b - a);
        if (dscps[0] === dscps[1] || dscps.includes(-1)) continue;
        const key = `${dscps} ${original.interfaceIndex} ${conversation.interfaceIndex}`;
        found.set(key, [...(found.get(key) ?? []), { address: end.address, original, conversation, dscps }]);
      }
    }
    for (const same of [...found.values()].slice(0, MOST_FINDINGS)) this.#reportRewriting(context, same);
    return new Set([...found.values()].flat().flatMap(({ original, conversation }) => [original.id, conversation.id]));
  }

  #reportRewriting(context: DetectorContext, same: readonly RewrittenDscp[]): void {
    const [first] = same;
    if (first === undefined) return;
    const { original, conversation, dscps } = first;
    const addresses = [...new Set(same.map(({ address }) => address))];
    const interfaces = [original.interfaceIndex, conversation.interfaceIndex];
    context.report({
      severity: 'warning',
      text: `Packets of ${addresses.length <= 2 ? listed(addresses) : `${addresses.length} hosts`} carry DSCP ${dscps[0]} at one of the interfaces ${listed(interfaces.map(String))} and DSCP ${dscps[1]} at the other: something between them rewrites it.`,
      frames: this.#framesOf(same.flatMap((each) => [{ conversation: each.original }, each])),
      conversations: same.flatMap((each) => [each.original.id, each.conversation.id]),
      evidence: { addresses, dscps: [...dscps], interfaces },
      advice: ['Let every switch on the path trust DSCP and pass it on unchanged.', ...DSCP_MISMATCH.advice],
    });
  }

  #reportPriorities(context: DetectorContext, entries: readonly ConversationDscp[]): void {
    for (const same of groupsOf(entries, ({ dscps, priorities }) => `${dscps[0]} ${priorities[0]}`)) {
      const [{ dscps, priorities } = NO_ENTRY] = same;
      const lossy = same.some(({ conversation }) => loses(conversation));
      context.report({
        severity: lossy ? 'warning' : 'note',
        text: `${counted(same.length, 'connection')} of ${hostsOf(same)} ${same.length === 1 ? 'carries' : 'carry'} VLAN priority ${priorities[0]} and DSCP ${dscps[0]}, whose usual priority is ${dscps[0] >> 3}: switches that trust the tag and switches that trust DSCP use different queues${lossy ? ', and packets are lost' : ''}.`,
        frames: this.#framesOf(same),
        conversations: same.map(({ conversation }) => conversation.id),
        evidence: {
          dscp: dscps[0],
          vlanPriority: priorities[0],
          connections: same.length,
          lossy: lossy ? 'yes' : 'no',
        },
        advice: [
          'Map the class to the priority on the host too: mlnx_qos, or ip link set DEV type vlan egress-qos-map.',
          ...DSCP_MISMATCH.advice,
        ],
      });
    }
  }

  #reportLeftOut(context: DetectorContext, entries: readonly ConversationDscp[]): void {
    if (entries.length === 0) return;
    const repeated = entries.reduce((sum, { conversation }) => sum + repeatedBy(conversation), 0);
    context.report({
      severity: 'warning',
      text: `${counted(entries.length, 'connection')} of ${hostsOf(entries)} ${entries.length === 1 ? 'carries' : 'carry'} DSCP 0 and had to repeat ${counted(repeated, 'packet')}, while this network has a class for RoCE.`,
      frames: this.#framesOf(entries),
      conversations: entries.map(({ conversation }) => conversation.id),
      evidence: { dscp: 0, connections: entries.length, repeatedPackets: repeated },
    });
  }

  #reportUnusual(context: DetectorContext, entries: readonly ConversationDscp[]): void {
    for (const same of groupsOf(entries, ({ dscps }) => String(dscps[0]))) {
      const [{ dscps } = NO_ENTRY] = same;
      context.report({
        severity: 'note',
        text: `${counted(same.length, 'connection')} of ${hostsOf(same)} ${same.length === 1 ? 'carries' : 'carry'} DSCP ${dscps[0]}; 26 or 24 is usual, so check that the switches are configured for it.`,
        frames: this.#framesOf(same),
        conversations: same.map(({ conversation }) => conversation.id),
        evidence: { dscp: dscps[0], connections: same.length },
      });
    }
  }
}

/** Packets of one address in two places, as two conversations. */
interface RewrittenDscp {
  readonly address: string;
  readonly original: ConversationReport;
  readonly conversation: ConversationReport;
  /** The higher one first. */
  readonly dscps: readonly number[];
}

/** A conversation with the class of each direction. */
interface ConversationDscp {
  readonly conversation: ConversationReport;
  readonly dscps: readonly [number, number];
  readonly priorities: readonly [number, number];
}

/** Undefined when one direction does not carry one class clearly. */
function conversationDscp(conversation: ConversationReport): ConversationDscp | undefined {
  const [a, b] = conversation.ends;
  const dscps = [mainDscp(a), mainDscp(b)] as const;
  if (dscps[0] < 0 || dscps[1] < 0) return undefined;
  const priorities = [a.vlan < 0 ? -1 : a.vlanPriority, b.vlan < 0 ? -1 : b.vlanPriority] as const;
  return { conversation, dscps, priorities };
}

/** DSCP of nine in ten packets of an end, CNPs aside; -1 when there is none or there are too few packets. */
function mainDscp({ congestion: { dscp } }: EndReport): number {
  let total = 0;
  let most = 0;
  let main = -1;
  for (const [value, count] of Object.entries(dscp)) {
    total += count;
    if (count > most) {
      most = count;
      main = Number(value);
    }
  }
  return total >= LEAST_PACKETS && most >= CLEAR_SHARE * total ? main : -1;
}

function usesClasses({ capture }: DetectorContext, conversations: readonly ConversationReport[]): boolean {
  if ((capture.others['PFC'] ?? 0) > 0) return true;
  return conversations.some(({ ends }) => ends.some((end) => USUAL.includes(mainDscp(end))));
}

/** Retransmitted packets: something was lost, whether or not this capture point shows it. */
function repeatedBy({ ends }: ConversationReport): number {
  return ends.reduce(
    (sum, { requester }) => sum + requester.retransmittedPackets + requester.responses.retransmittedPackets,
    0,
  );
}

function loses(conversation: ConversationReport): boolean {
  return repeatedBy(conversation) > 0;
}

function groupsOf(
  entries: readonly ConversationDscp[],
  keyOf: (classes: ConversationDscp) => string,
): readonly (readonly ConversationDscp[])[] {
  const groups = new Map<string, ConversationDscp[]>();
  for (const classes of entries) {
    const key = keyOf(classes);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [classes]);
    else group.push(classes);
  }
  return [...groups.values()].slice(0, MOST_FINDINGS);
}

function hostsOf(entries: readonly ConversationDscp[]): string {
  const hosts = [...new Set(entries.flatMap(({ conversation: { ends } }) => ends.map(({ address }) => address)))];
  return hosts.length <= 2 ? listed(hosts) : `${hosts.length} hosts`;
}

const NO_ENTRY = { conversation: undefined, dscps: [0, 0], priorities: [-1, -1] } as const;
const USUAL: readonly number[] = [24, 26];
const LEAST_PACKETS = 8;
const CLEAR_SHARE = 0.9;
const MOST_FINDINGS = 8;
