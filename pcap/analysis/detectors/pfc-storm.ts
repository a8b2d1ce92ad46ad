/**
 * Symptom: pauses (priority flow control) stop a traffic class for a large part of the time.
 *
 * Owns the finding, one for each port that sends pauses and each class. A pause lasts until it is ended or its time
 * runs out. That time is in units of 512 bit times of the link. No capture has the link rate, so 100 Gb/s is assumed:
 * on slower links pauses are longer, and the share is a lower bound. Occasional pauses are normal in a lossless class
 * and give no finding.
 * A finding needs at least 20 pauses and 10 ms of capture, since shorter bursts are an ordinary incast:
 * - warning from 10 % of the time on: the class handles congestion by pauses instead of congestion control;
 * - error from 50 % on, or when one pause lasts 100 ms without a break, where watchdogs of switches begin to drop.
 *   Where one has dropped, `pfc-watchdog` speaks for that port and class.
 * Rules: ref:analyzer#1 row 14, ref:dcqcn#4 (PFC time), packets/pfc.ts. Global pauses (opcode 1) count as pauses of all
 * classes.
 */
import { formatMac } from '../../../packets/address.ts';
import { FrameStatus, Medium } from '../../../packets/frame.ts';
import { ETHERTYPE_MAC_CONTROL, isPfc, PFC_PRIORITIES, pfcEnableVector, pfcQuanta } from '../../../packets/pfc.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { TransportEvent } from '../types.ts';
import { FrameList } from './frame-list.ts';
import { StuckQueues } from './stuck-queues.ts';
import { counted, duration, grouped, percent } from './words.ts';

export const PFC_STORM: Symptom = {
  id: 'pfc-storm',
  row: 14,
  title: 'PFC storm',
  complaint: 'The whole fabric stalls, hosts without a connection to the busy one included.',
  about:
    'A port that runs out of buffer pauses the other end of its link in one priority. A host that is stuck, or a class without ' +
    'congestion control, pauses again and again; the switch fills up in turn and pauses its own neighbours, until queues stand still that ' +
    'have nothing to do with the cause. Pauses never pass a switch: what a capture shows is what happens on that link.',
  advice: [
    'Go to the port that sends most pauses: a host among them does not take its packets fast enough (slow memory, PCIe, a stuck process).',
    'Let DCQCN act before PFC: marking thresholds (ECN) below those of pauses, and CNPs in a priority of their own.',
    'Switch on the PFC watchdog of the switches.',
  ],
  commands: ['ethtool -S DEV | grep -i pause', 'mlnx_qos -i DEV', 'dcb pfc show dev DEV', 'show pfc counters'],
  make: () => new PfcStorm(),
};

/** Pauses of one class from one port, as one interface captured them. */
class PauseTime {
  readonly mac: string;
  readonly priority: number;
  readonly frames = new FrameList();
  resumes = 0;
  pausedNs = 0;
  longestNs = 0;
  quanta = 0;
  /** End of what is counted so far, and when the pause at work runs out. */
  #countedNs = 0;
  #untilNs = 0;
  /** Since when without a break. */
  #sinceNs = 0;

  constructor(mac: string, priority: number) {
    this.mac = mac;
    this.priority = priority;
  }

  onPause(timeNs: number, quanta: number, frame: number): void {
    this.count(timeNs);
    if (quanta === 0) {
      this.resumes++;
      this.#untilNs = timeNs;
      return;
    }
    if (timeNs >= this.#untilNs) this.#sinceNs = timeNs;
    this.frames.add(frame);
    this.quanta += quanta;
    this.#untilNs = timeNs + quanta * QUANTUM_NS;
  }

  /** Brings `pausedNs` up to a time. */
  count(timeNs: number): void {
    const end = Math.min(timeNs, this.#untilNs);
    if (end > this.#countedNs && this.frames.count > 0) {
      this.pausedNs += end - Math.max(this.#countedNs, this.#sinceNs);
      this.longestNs = Math.max(this.longestNs, end - this.#sinceNs);
    }
    this.#countedNs = timeNs;
  }
}

class PfcStorm implements Detector {
  readonly interest = PacketKind.Other;
  readonly #pauses = new Map<number, PauseTime>();
  /** Those of `pfc-watchdog`. */
  readonly #queues = new StuckQueues();

  packet(facts: PacketFacts): void {
    const { dissection, timeNs, packet } = facts;
    const { frame, status } = dissection;
    if (status === FrameStatus.Ok) return;
    if (frame.etherType !== ETHERTYPE_MAC_CONTROL || frame.medium !== Medium.Ethernet) return;
    this.#queues.packet(facts);
    const { view, start, end } = frame;
    if (isPfc(view, start, end)) {
      const enabled = pfcEnableVector(view, start);
      for (let priority = 0; priority < PFC_PRIORITIES; priority++) {
        if (((enabled >> priority) & 1) === 0) continue;
        this.#of(view, start, packet.interfaceIndex, priority)?.onPause(
          timeNs,
          pfcQuanta(view, start, priority),
          packet.number,
        );
      }
    } else if (isGlobalPause(view, start, end)) {
      this.#of(view, start, packet.interfaceIndex, ALL_CLASSES)?.onPause(
        timeNs,
        view.getUint16(start + 16),
        packet.number,
      );
    }
  }

  event(event: TransportEvent): void {
    this.#queues.event(event);
  }

  finish(context: DetectorContext): void {
    const all = [...this.#pauses.values()];
    for (const pauses of all) pauses.count(context.capture.durationNs);
    const total = all.reduce((sum, { frames }) => sum + frames.count, 0);
    const worst = new Map<string, PauseTime>();
    for (const pauses of all) {
      const key = `${pauses.mac} ${pauses.priority}`;
      // Two interfaces on one link see the same pauses.
      if ((worst.get(key)?.pausedNs ?? -1) < pauses.pausedNs) worst.set(key, pauses);
    }
    const flushed = new Set(this.#queues.flushed(context).map(({ mac, priority }) => `${mac} ${priority}`));
    const storms = [...worst.values()].filter(
      (pauses) => isStorm(pauses, context.capture.durationNs) && !flushed.has(`${pauses.mac} ${pauses.priority}`),
    );
    storms.sort((a, b) => b.pausedNs - a.pausedNs);
    for (const pauses of storms.slice(0, MOST_FINDINGS)) this.#report(context, pauses, total, storms.length);
  }

  #of(view: DataView, start: number, interfaceIndex: number, priority: number): PauseTime | undefined {
    const mac = view.getUint16(start + 6) * 2 ** 32 + view.getUint32(start + 8);
    // 48 bits of MAC; interfaces beyond the eighth share keys, which mixes nothing but vantage points of one port.
    const key = (mac % 2 ** 44) * 128 + (interfaceIndex & 7) * 16 + priority;
    const known = this.#pauses.get(key);
    if (known !== undefined || this.#pauses.size >= MOST_PORTS) return known;
    const made = new PauseTime(formatMac(new Uint8Array(view.buffer, view.byteOffset + start + 6, 6)), priority);
    this.#pauses.set(key, made);
    return made;
  }

  #report(context: DetectorContext, pauses: PauseTime, total: number, storms: number): void {
    const { mac, priority, frames, pausedNs, longestNs, resumes } = pauses;
    const { capture, conversations, packetsByPriority } = context;
    const share = pausedNs / capture.durationNs;
    const host = conversations.flatMap(({ ends }) => ends).find((end) => end.mac === mac)?.address;
    const who = host === undefined ? `Port ${mac}` : `Host ${host} (${mac})`;
    const carried = packetsByPriority[priority] ?? 0;
    const busiest = packetsByPriority.indexOf(Math.max(...packetsByPriority));
    const other =
      priority === ALL_CLASSES || carried > 0 || capture.rocePackets === 0
        ? ''
        : ` The RoCE traffic of this capture travels with priority ${busiest}, which this does not pause.`;
    const what = priority === ALL_CLASSES ? 'all classes (global pause)' : `class ${priority}`;
    const perSecond = Math.round((frames.count * 1e9) / capture.durationNs);
    context.report({
      severity: share >= STALL_SHARE || longestNs >= STALL_NS ? 'error' : 'warning',
      text: `${who} paused ${what} for ${percent(share)} of the time or more: ${counted(frames.count, 'pause')} (${grouped(perSecond)} a second), the longest without a break ${duration(longestNs)}${storms > 1 ? `, ${percent(frames.count / total)} of all pauses here` : ''}.${other}`,
      frames: frames.frames,
      frameCount: frames.count,
      evidence: {
        port: mac,
        host: host ?? '',
        priority: priority === ALL_CLASSES ? 'all' : priority,
        pauses: frames.count,
        resumes,
        perSecond,
        pausedNs: Math.round(pausedNs),
        pausedPercent: Math.round(share * 1000) / 10,
        longestNs: Math.round(longestNs),
        roceWithThisPriority: priority === ALL_CLASSES ? capture.rocePackets : carried,
      },
    });
  }
}

function isStorm({ frames, pausedNs, longestNs }: PauseTime, durationNs: number): boolean {
  if (frames.count < LEAST_PAUSES || durationNs < LEAST_NS) return false;
  return pausedNs / durationNs >= WARNING_SHARE || longestNs >= STALL_NS;
}

function isGlobalPause(view: DataView, start: number, end: number): boolean {
  return end - start >= 18 && view.getUint16(start + 14) === GLOBAL_PAUSE_OPCODE;
}

/** 512 bit times at 100 Gb/s. */
const QUANTUM_NS = 5.12;
const GLOBAL_PAUSE_OPCODE = 0x0001;
const ALL_CLASSES = PFC_PRIORITIES;
const LEAST_PAUSES = 20;
const LEAST_NS = 10e6;
const WARNING_SHARE = 0.1;
const STALL_SHARE = 0.5;
const STALL_NS = 100e6;
const MOST_PORTS = 4096;
const MOST_FINDINGS = 8;
