/**
 * Symptom: congestion control does not work, and which part of it fails.
 *
 * Owns five findings, each from positive evidence:
 * - CE marks without CNPs: at least 8 marked packets of one connection arrived, their receiver sent at least 4 packets
 *   afterwards, and the capture has no CNP from it to that sender: a warning;
 * - CNPs without effect: at least 64 CNPs in a row, no more than 100 us apart, and after the first 32 the fastest 64
 *   packets still have 90 % of the rate before the first one. DCQCN falls to less than three quarters in such a run, in
 *   either profile: a warning;
 * - data that may not be marked (Not-ECT) while that of others may: a note, and a warning when others to the same
 *   receiver are marked;
 * - CNPs to a queue pair that does not exist, though those of the sender are known: a warning;
 * - CNPs with another DSCP than 48: a note, and a warning when it is that of the data, since they then wait in the same
 *   queue.
 * An end that never sets MigReq may be rdma_rxe, which neither sends nor handles CNPs (ref:wire#9, ref:rxe#3): the text
 * mentions it.
 * Rules: ref:analyzer#1 row 13, ref:dcqcn#1, ref:dcqcn#2, ref:dcqcn#7.
 */
import { FrameStatus, frameDestination, frameSource } from '../../../packets/frame.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { type PacketFacts, Role } from '../facts.ts';
import { ALL_KINDS, PacketKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { type EcnFlow, EcnFlows } from './ecn-flows.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { bitRate, counted, grouped, qpName } from './words.ts';

export const ECN_MISCONFIGURED: Symptom = {
  id: 'ecn-misconfigured',
  row: 13,
  title: 'Congestion control does not work',
  complaint: 'Slow without any error; queues and pauses grow, counters of marks and of CNPs do not go together.',
  about:
    'DCQCN has three parts: switches mark packets that allow it (ECT), the receiver answers marks with congestion notification packets (CNP), ' +
    'and the sender slows down the queue pair that a CNP names. Each part is switched on separately on each host and for each priority, so that ' +
    'one that was forgotten leaves the others without effect.',
  advice: ['Switch on both the notification point and the reaction point for the priority of RoCE on every host.'],
  commands: [
    'cat /sys/class/net/DEV/ecn/roce_np/enable/*',
    'cat /sys/class/net/DEV/ecn/roce_rp/enable/*',
    'rdma statistic show link DEV/1 | grep -iE "cnp|ecn"',
    'ethtool -S DEV | grep -iE "cnp|ecn"',
    'mlnx_qos -i DEV',
  ],
  make: () => new EcnMisconfigured(),
};

class EcnMisconfigured implements Detector {
  readonly interest = ALL_KINDS & ~PacketKind.Management;
  readonly #flows = new EcnFlows();
  /** CNPs that belong to no conversation. */
  readonly #strays = new Map<string, StrayCnps>();

  packet(facts: PacketFacts): void {
    if (facts.role === Role.Cnp && facts.conversation === undefined) this.#stray(facts);
    else if (facts.icrc !== IcrcState.Bad) this.#flows.packet(facts);
  }

  finish(context: DetectorContext): void {
    const flows: EcnFlowEnds[] = [];
    const byId = new Map(context.conversations.map((conversation) => [conversation.id, conversation]));
    for (const flow of this.#flows.all) {
      const conversation = byId.get(flow.conversation);
      if (conversation === undefined) continue;
      flows.push({
        flow,
        conversation,
        sender: conversation.ends[flow.end],
        receiver: conversation.ends[flow.end === 0 ? 1 : 0],
        answers: this.#flows.of(flow.conversation, flow.end === 0 ? 1 : 0),
      });
    }
    const strays = straysOf(this.#strays, flows);
    const named = reportStrays(context, strays, flows);
    reportUnanswered(context, flows, named);
    reportUnheeded(context, flows);
    reportNotEct(context, flows);
    reportCnpDscp(context, flows);
  }

  #stray({ dissection: { frame, status }, packet }: PacketFacts): void {
    if (status !== FrameStatus.Ok) return;
    const from = frameSource(frame).toString();
    const to = frameDestination(frame).toString();
    addStray(this.#strays, from, to, frame.destQpn).frames.add(packet.number);
  }
}

/** A flow with what the report knows of its ends. */
interface EcnFlowEnds {
  readonly flow: EcnFlow;
  readonly conversation: ConversationReport;
  readonly sender: EndReport;
  readonly receiver: EndReport;
  /** What the receiver sends. */
  readonly answers: EcnFlow;
}

/** CNPs to one number. */
interface StrayCnps {
  readonly from: string;
  readonly to: string;
  readonly qpn: number;
  readonly frames: FrameList;
}

function addStray(strays: Map<string, StrayCnps>, from: string, to: string, qpn: number): StrayCnps {
  const key = `${from} ${to} ${qpn}`;
  const stray = strays.get(key) ?? { from, to, qpn, frames: new FrameList() };
  if (strays.has(key) || strays.size < MOST_STRAYS) strays.set(key, stray);
  return stray;
}

/** Conversations that consist of CNPs only are strays as well. */
function straysOf(strays: Map<string, StrayCnps>, flows: readonly EcnFlowEnds[]): StrayCnps[] {
  for (const { flow, sender, receiver } of flows) {
    const others = sender.packets + receiver.packets - sender.congestion.cnpsSent - receiver.congestion.cnpsSent;
    if (others > 0 || flow.notifications.count === 0) continue;
    addStray(strays, receiver.address, sender.address, sender.qpn).frames.addAll(flow.notifications);
  }
  return [...strays.values()];
}

/** @returns pairs "receiver sender" with CNPs, though to a wrong queue pair number */
function reportStrays(
  context: DetectorContext,
  strays: readonly StrayCnps[],
  flows: readonly EcnFlowEnds[],
): Set<string> {
  const named = new Set<string>();
  for (const { from, to, qpn, frames } of strays) {
    const between = flows.filter(
      ({ sender, receiver }) =>
        sender.address === to && receiver.address === from && receiver.packets > receiver.congestion.cnpsSent,
    );
    const known = between.filter(({ sender }) => sender.qpn >= 0);
    if (known.some(({ sender }) => sender.qpn === qpn)) continue;
    const own = between.find(({ receiver }) => receiver.qpn === qpn);
    if (frames.count < LEAST_STRAYS || (own === undefined && (known.length === 0 || known.length < between.length)))
      continue;
    named.add(`${from} ${to}`);
    const mistake =
      own === undefined
        ? `${to} has none of that number`
        : `that is its own number: a CNP names the queue pair that sent the marked packets, ${qpName(own.sender.qpn)} here`;
    context.report({
      severity: 'warning',
      restsOn: [],
      text: `${from} sends ${counted(frames.count, 'CNP')} to ${qpName(qpn)} of ${to}, but ${mistake}; no sender slows down.`,
      frames: frames.frames,
      frameCount: frames.count,
      conversations: own === undefined ? [] : [own.conversation.id],
      evidence: {
        leg: 'cnp-queue-pair',
        from,
        to,
        qpn,
        cnps: frames.count,
        knownQpns: known.map(({ sender }) => sender.qpn).slice(0, 16),
      },
      advice: [
        'Fix the notification point: the destination QPN of a CNP is the QPN of the sender of the marked packet.',
      ],
    });
  }
  return named;
}

function reportUnanswered(context: DetectorContext, flows: readonly EcnFlowEnds[], named: ReadonlySet<string>): void {
  const byReceiver = new Map<string, EcnFlowEnds[]>();
  const notifiers = new Set(
    flows.filter(({ flow }) => flow.notifications.count > 0).map(({ receiver }) => receiver.address),
  );
  for (const judged of flows) {
    const { flow, conversation, sender, receiver } = judged;
    if (conversation.service === 'UD' || flow.marked.count < LEAST_MARKS || flow.heardSinceMark < LEAST_HEARD) continue;
    if (flow.becnAcks > 0 || notifiers.has(receiver.address)) continue;
    if (named.has(`${receiver.address} ${sender.address}`)) continue;
    byReceiver.set(receiver.address, [...(byReceiver.get(receiver.address) ?? []), judged]);
  }
  for (const [address, silent] of byReceiver) {
    const marks = silent.reduce((sum, { flow }) => sum + flow.marked.count, 0);
    const senders = [...new Set(silent.map(({ sender }) => sender.address))];
    const rxe = silent.every(({ answers }) => answers.migReqPackets === 0);
    context.report({
      severity: 'warning',
      text: `${counted(marks, 'packet')} of ${senders.length === 1 ? senders.join('') : `${senders.length} hosts`} came to ${address} marked by the network (CE), and it never sent a CNP${rxe ? '; its packets look like those of rdma_rxe, which never does' : ''}.`,
      frames: mergedFrames(silent.map(({ flow }) => flow.marked.frames)),
      frameCount: marks,
      conversations: silent.map(({ conversation }) => conversation.id),
      evidence: {
        leg: 'notification-point',
        receiver: address,
        marks,
        connections: silent.length,
        likeRxe: rxe ? 'yes' : 'no',
      },
      advice: rxe
        ? [
            'rdma_rxe has no congestion control: switch marking off for its traffic, or use a NIC that has a notification point.',
          ]
        : [`Switch on the notification point (roce_np) of ${address} for the priority of these packets.`],
    });
  }
}

function reportUnheeded(context: DetectorContext, flows: readonly EcnFlowEnds[]): void {
  for (const { flow, conversation, sender } of flows) {
    if (flow.pace === undefined) continue;
    const { baselineBps, runBps, runLength, runBlocks } = flow.pace;
    if (runLength < LEAST_RUN || runBlocks < 2 || baselineBps === 0 || runBps < UNHEEDED_SHARE * baselineBps) continue;
    if (conversation.sameAs !== 0) continue;
    const rxe = flow.migReqPackets === 0;
    context.report({
      severity: 'warning',
      text: `${counted(flow.notifications.count, 'CNP')} for ${qpName(sender.qpn)} of ${sender.address}, ${grouped(runLength)} of them in a row, did not slow it down: ${bitRate(runBps)} under them, ${bitRate(baselineBps)} before${rxe ? '; its packets look like those of rdma_rxe, which ignores CNPs' : ''}.`,
      frames: flow.notifications.frames,
      frameCount: flow.notifications.count,
      conversations: [conversation.id],
      evidence: {
        leg: 'reaction-point',
        sender: sender.address,
        cnps: flow.notifications.count,
        cnpsInARow: runLength,
        bpsBefore: Math.round(baselineBps),
        bpsUnderCnps: Math.round(runBps),
        likeRxe: rxe ? 'yes' : 'no',
      },
      advice: rxe
        ? ['rdma_rxe has no reaction point: limit its rate outside (tc), or use a NIC that has one.']
        : [`Switch on the reaction point (roce_rp) of ${sender.address} for the priority of these packets.`],
    });
  }
}

function reportNotEct(context: DetectorContext, flows: readonly EcnFlowEnds[]): void {
  const capable = flows.filter(({ flow }) => flow.ectPackets >= LEAST_DATA && flow.notEctPackets === 0);
  if (capable.length === 0) return;
  const bySender = new Map<string, EcnFlowEnds[]>();
  for (const judged of flows) {
    const { flow, conversation, sender } = judged;
    if (conversation.service === 'UD' || conversation.sameAs !== 0) continue;
    if (flow.notEctPackets < LEAST_DATA || flow.ectPackets > 0) continue;
    bySender.set(sender.address, [...(bySender.get(sender.address) ?? []), judged]);
  }
  for (const [address, excluded] of bySender) {
    const receivers = new Set(excluded.map(({ receiver }) => receiver.address));
    const marked = capable.filter(({ flow, receiver }) => flow.marked.count > 0 && receivers.has(receiver.address));
    const packets = excluded.reduce((sum, { flow }) => sum + flow.notEctPackets, 0);
    const others = new Set(capable.map(({ sender }) => sender.address));
    others.delete(address);
    if (others.size === 0) continue;
    const total = capable.reduce((sum, { flow }) => sum + flow.ectPackets, 0);
    context.report({
      severity: marked.length > 0 ? 'warning' : 'note',
      restsOn: [],
      text: `${counted(packets, 'data packet')} of ${address} are Not-ECT, so the network may not mark them, while ${counted(total, 'packet')} of ${counted(others.size, 'other host')} may be marked${marked.length > 0 ? ' and some are: in the same queue these are dropped instead' : ''}.`,
      frames: mergedFrames(excluded.map(({ flow }) => flow.notEct.frames)),
      frameCount: packets,
      conversations: excluded.map(({ conversation }) => conversation.id),
      evidence: { leg: 'ect', sender: address, notEctPackets: packets, ectPackets: total, otherHosts: others.size },
      advice: [
        `Let ${address} send ECT: a traffic class of 106 is DSCP 26 with ECT(0); congestion control of its NIC has to be on.`,
      ],
    });
  }
}

function reportCnpDscp(context: DetectorContext, flows: readonly EcnFlowEnds[]): void {
  const seen = new Map<string, EcnFlowEnds[]>();
  for (const judged of flows) {
    const [dscp, share] = mainValue(judged.receiver.congestion.cnpDscp);
    if (dscp < 0 || dscp === CNP_DSCP || share < CLEAR_SHARE || judged.flow.notifications.count < LEAST_CNPS) continue;
    const [data] = mainValue(judged.sender.congestion.dscp);
    const key = `${dscp} ${data === dscp && data !== 0}`;
    seen.set(key, [...(seen.get(key) ?? []), judged]);
  }
  for (const [key, same] of seen) {
    const [dscp = '', waits] = key.split(' ');
    const senders = [...new Set(same.map(({ receiver }) => receiver.address))];
    const cnps = same.reduce((sum, { flow }) => sum + flow.notifications.count, 0);
    context.report({
      severity: waits === 'true' ? 'warning' : 'note',
      restsOn: [],
      text: `${counted(cnps, 'CNP')} of ${senders.length === 1 ? senders.join('') : `${senders.length} hosts`} ${cnps === 1 ? 'carries' : 'carry'} DSCP ${dscp} instead of 48${waits === 'true' ? ', that of the data: they wait in the queue that they are to relieve' : ''}.`,
      frames: mergedFrames(same.map(({ flow }) => flow.notifications.frames)),
      frameCount: cnps,
      conversations: same.map(({ conversation }) => conversation.id),
      evidence: { leg: 'cnp-dscp', dscp: Number(dscp), cnps },
      advice: ['Set the DSCP of CNPs to 48 and give it a priority of its own (6), with strict scheduling.'],
      commands: ['cat /sys/class/net/DEV/ecn/roce_np/cnp_dscp', 'mlnx_qos -i DEV'],
    });
  }
}

/** The value that comes most often, and its share; -1 when there is none. */
function mainValue(counts: Readonly<Record<string, number>>): readonly [number, number] {
  const [best] = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return best === undefined ? [-1, 0] : [Number(best[0]), best[1] / total];
}

const CNP_DSCP = 48;
const LEAST_MARKS = 8;
const LEAST_HEARD = 4;
const LEAST_STRAYS = 2;
const LEAST_CNPS = 3;
const LEAST_DATA = 64;
const LEAST_RUN = 64;
const UNHEEDED_SHARE = 0.9;
const CLEAR_SHARE = 0.9;
const MOST_STRAYS = 1024;
