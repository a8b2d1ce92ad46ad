/**
 * QueuePair: what queue pairs of every service have in common: state and attributes, the work queues and how they are
 * flushed, events, and the interface that a device polls. Sans I/O: inputs are `postSend`, `postRecv`, `modify`,
 * `handleFrame` and `handleTimeout`; outputs are `transmit`, `nextDeadline`, `pollEvent` and the completion queues.
 * What packets do is in rc-queue-pair.ts and its siblings.
 */
import { RoceError } from '../packets/errors.ts';
import type { Frame } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { OpFlag, SERVICE_MASK } from '../packets/opcode.ts';
import { isMarked } from '../packets/traffic-class.ts';
import { checkAttributes } from './attribute-checks.ts';
import { completedBytes } from './completer.ts';
import { MarkedFlow } from './congestion/notification-point.ts';
import type { Pacer } from './congestion/pacer.ts';
import type { PortCounters } from './counters.ts';
import { applyPaths, checkMigration, isOnPath, migrate, peerMigrated, resetPaths } from './path-migration.ts';
import { PeerPort } from './peer-port.ts';
import type { PeerProfile } from './peer-profile.ts';
import { TransportPools } from './pools.ts';
import type { ProtectionDomain } from './protection-domain.ts';
import { MigState, type QpAttributes } from './qp-attributes.ts';
import type { QpCapabilities } from './qp-capabilities.ts';
import { applyAttributes, applyProfile, type QpConfig, QpSettings, resetSettings } from './qp-config.ts';
import type { QpSignal } from './qp-event.ts';
import type { QpIdentity } from './qp-identity.ts';
import type { QpPath } from './qp-path.ts';
import { QP_STATE_NAMES, QpState, rightsOf } from './qp-state.ts';
import type { QpType } from './qp-type.ts';
import { RecvQueue } from './recv-queue.ts';
import { pkeysMatch } from './request-checks.ts';
import { checkService } from './send-checks.ts';
import type { SendEntry } from './send-entry.ts';
import { completionOpcode, SendQueue } from './send-queue.ts';
import { SharedReceiveQueue } from './srq.ts';
import { type RecvWr, type SendWr, WcStatus } from './work.ts';

/** Packets one call of `transmit` may write before other queue pairs get their turn. */
export const BURST = 32;

/** A queue pair of any service. */
export abstract class QueuePair {
  /** Its number, 24 bits. */
  readonly qpn: number;
  /** True while the device has this queue pair in its list of those with something to send. */
  listed = false;
  /** Set by the device until RESET: an invariant of ours failed in it, and it gets no frames, turns and timeouts. */
  broken = false;
  /** Keeps its packets to a rate, while it has a connection and the device reacts to congestion. */
  pacer: Pacer | undefined = undefined;
  /** Deadline under which the device has this queue pair in its timer heap; Infinity when it has not. */
  heapDeadline = Number.POSITIVE_INFINITY;
  readonly #settings: QpSettings;
  protected readonly counters: PortCounters;
  protected readonly pools: TransportPools;
  protected readonly sendQueue: SendQueue;
  protected readonly recvQueue: RecvQueue;
  /** Moved by `modify`, and by the service when something goes wrong. */
  protected current: QpState = QpState.Reset;
  /** Made with the first event. */
  #events: QpSignal[] | undefined = undefined;
  #established = false;
  /** Made where the peer has to keep its source port. */
  protected readonly port: PeerPort | undefined;
  /** Made with the first marked packet. */
  #marked: MarkedFlow | undefined = undefined;
  /** In ERROR, with a shared receive queue: that no receive of it will complete any more was reported. */
  #lastWqeReached = false;

  /** In state RESET. `mtu`: the largest payload, of services that have no attribute for it. */
  constructor(type: QpType, identity: QpIdentity, capabilities: QpCapabilities, counters: PortCounters, mtu?: number) {
    this.qpn = identity.qpn;
    this.#settings = new QpSettings(type, identity, mtu);
    if (this.config.defences.strictUdpSport) this.port = new PeerPort();
    this.counters = counters;
    const { maxSendWr, maxRecvWr, maxSge } = capabilities;
    const { srq, pd, pools = new TransportPools(), receiveSource } = identity;
    this.pools = pools;
    this.sendQueue = new SendQueue(maxSendWr, capabilities, pools.sends);
    this.recvQueue = srq ?? new RecvQueue(maxRecvWr, maxSge, pd, pools.receives, undefined, receiveSource);
  }

  /** Its attributes, as `modify` has set them. */
  get config(): QpConfig {
    return this.#settings;
  }

  /** Its service. */
  get type(): QpType {
    return this.config.type;
  }

  /** Its state. */
  get state(): QpState {
    return this.current;
  }

  /** The shared queue that receives come from, if any. */
  get srq(): SharedReceiveQueue | undefined {
    return this.recvQueue instanceof SharedReceiveQueue ? this.recvQueue : undefined;
  }

  /** Send work requests posted and not completed. */
  get sendsOutstanding(): number {
    return this.sendQueue.length;
  }

  /** Receive work requests posted here and not yet taken by a message; those of a shared receive queue do not count. */
  get receivesPosted(): number {
    return this.recvQueue.shared ? 0 : this.recvQueue.length;
  }

  // Called for the application.

  /** Expects a peer of this kind from now on. For a queue pair that is not connected yet. */
  expect(profile: PeerProfile): void {
    applyProfile(this.#settings, profile);
    applyPaths({ migReq: profile.migReq.value }, this.#settings);
  }

  /** At most so many packets, 1 or more, are sent and not yet acknowledged [128]. */
  limitUnacked(packets: number): void {
    this.#settings.maxUnacked = packets;
  }

  /** At least every so many packets, 1 or more, request an ACK; by default as the kind of peer has it. */
  setAckInterval(packets: number): void {
    this.#settings.ackInterval = packets;
  }

  /**
   * Changes attributes and state. Throws ERR_ROCE_STATE or ERR_ROCE_ARGUMENT, and changes nothing, when not allowed.
   */
  modify(attributes: QpAttributes): void {
    checkAttributes(this.type, this.current, attributes);
    checkMigration(attributes, this.config);
    const { sendCq, recvCq } = this.config;
    if (attributes.state === QpState.Init && (sendCq.overrun || recvCq.overrun))
      throw new RoceError('ERR_ROCE_STATE', 'a completion queue of this queue pair has overrun, and takes no more');
    applyAttributes(this.#settings, attributes);
    if (applyPaths(attributes, this.#settings)) this.migrate();
    const next = attributes.state ?? this.current;
    this.begin(attributes);
    if (next === QpState.Rtr) this.pacer = this.config.congestion?.newPacer();
    if (this.pacer !== undefined) this.rateChanged(this.pacer);
    if (next === this.current) return;
    const was = this.current;
    this.moveTo(next);
    if (next === QpState.Reset) this.#reset();
    if (next === QpState.Error) this.enterError(WcStatus.WrFlushErr);
    if (next === QpState.Sqd && was === QpState.Rts) this.noteDrained();
  }

  /** Posts a send work request; its data must stay untouched until it completes. */
  postSend(wr: SendWr): void {
    const rights = rightsOf(this.current);
    if (!rights.postSend)
      throw new RoceError('ERR_ROCE_STATE', `cannot post a send in state ${QP_STATE_NAMES[this.current]}`);
    checkService(this.config, wr);
    this.sendQueue.post(wr);
    if (rights.flushSends) this.flushSends(WcStatus.WrFlushErr);
  }

  /** Posts a receive work request. Throws ERR_ROCE_ARGUMENT where receives come from a shared queue. */
  postRecv(wr: RecvWr): void {
    if (this.recvQueue.shared)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'receives of this queue pair are posted to its shared receive queue');
    const rights = rightsOf(this.current);
    if (!rights.postRecv)
      throw new RoceError('ERR_ROCE_STATE', `cannot post a receive in state ${QP_STATE_NAMES[this.current]}`);
    this.recvQueue.post(wr);
    if (rights.flushRecvs) this.flush(WcStatus.WrFlushErr);
  }

  // Called by the device.

  /** Something else failed, a completion queue for example: to ERROR, without a NAK. */
  fail(): void {
    if (this.current === QpState.Error || this.current === QpState.Reset) return;
    this.note('qp-fatal');
    this.enterError(WcStatus.WrFlushErr);
  }

  /** Destroyed: work vanishes without completion. Replies still owed leave with the next `transmit`, all at once. */
  retire(): void {
    this.moveTo(QpState.Error);
    this.pacer = undefined;
    this.sendQueue.clear();
    if (!this.recvQueue.shared) this.recvQueue.clear();
    this.#events = undefined;
  }

  /**
   * Takes a CNP, or BECN `echoed` in an ACK. Counted and ignored without a connection, when it is not from the peer
   * (ref:dcqcn#7), and when no honest receiver would have sent it (ref:hostile#SEC-13).
   */
  handleCnp(now: number, frame: Frame, echoed = false): void {
    const { config, counters, pacer } = this;
    const { path } = config;
    const fromPeer = path === undefined || isOnPath(frame, path);
    if (pacer === undefined || !fromPeer || !pkeysMatch(frame.pkey, config.pkey)) counters.rpCnpIgnored += 1;
    else if (!echoed && !pacer.takesNotification(now, config.defences.minCnpIntervalNs)) counters.rpCnpExcess += 1;
    else {
      counters.rpCnpHandled += 1;
      pacer.controller.notified(now);
      config.trace?.notified(this.qpn);
    }
  }

  /** Takes a packet that parsed well and whose ICRC is right. */
  abstract handleFrame(now: number, frame: Frame): void;

  /** Takes a packet of this service whose opcode is reserved. */
  abstract handleReserved(now: number, frame: Frame): void;

  /** Does what is due; true when that was because the peer has not acknowledged in time. */
  abstract handleTimeout(now: number): boolean;

  /** Writes packets that may leave now, until nothing may, the turn is spent or the writer is full. */
  abstract transmit(now: number, writer: FrameWriter): void;

  /** Whether `transmit` has something to write. */
  abstract get pending(): boolean;

  /** When `handleTimeout` is due, in nanoseconds; Infinity when never. */
  abstract nextDeadline(): number;

  /** The next asynchronous event, or undefined. */
  pollEvent(): QpSignal | undefined {
    return this.#events?.shift();
  }

  // What a service does in its own way.

  /** `modify` gave starting PSNs: what was sent and received before is forgotten. */
  protected abstract begin(attributes: QpAttributes): void;

  /** To RESET: forgets what is on its way. The queues are empty. */
  protected abstract clearConnection(): void;

  /** To ERROR, not because of the peer: the oldest send fails with `status`, all else is flushed. */
  protected abstract enterError(status: WcStatus): void;

  /** The pacer's rate, or an attribute that matters to it, may have changed. */
  protected rateChanged(_pacer: Pacer): void {}

  /** A request came marked, where marks are echoed in ACKs. */
  protected oweBecn(): void {}
  // What services share.

  /** XRC: whose keys open memory for the current request. */
  protected serve(pd: ProtectionDomain): void {
    this.#settings.pd = pd;
  }

  /** Every change of state passes here. */
  protected moveTo(state: QpState): void {
    const from = this.current;
    this.current = state;
    if (from !== state) this.config.trace?.stateChanged(this.qpn, from, state);
  }

  /** State, service and P_Key: whether a packet is for this queue pair at all. Counts what is not. */
  protected admits(frame: Frame): boolean {
    const { config, counters } = this;
    if (this.current < QpState.Rtr) counters.badState += 1;
    else if ((frame.opcode & SERVICE_MASK) !== config.service) counters.badService += 1;
    else if (!pkeysMatch(frame.pkey, config.pkey)) counters.badPkey += 1;
    else return true;
    return false;
  }

  /** For connected services: the packet also comes from the peer, and to the address the connection has. */
  protected admitsFromPeer(now: number, frame: Frame): boolean {
    if (!this.admits(frame)) return false;
    const { config } = this;
    if (config.pathMigState !== MigState.Migrated && peerMigrated(frame, this.#settings)) this.migrate();
    const { path } = config;
    if (path === undefined) this.counters.badState += 1;
    else if (!isOnPath(frame, path)) this.counters.badAddress += 1;
    else if (this.port?.admits(frame) === false) this.counters.badSourcePort += 1;
    else {
      if (isMarked(frame.trafficClass)) this.#noteMarked(now, frame, path);
      return true;
    }
    return false;
  }

  /** Whether the rate lets data leave now; if not, the pacer has a deadline. */
  protected mayLeave(now: number): boolean {
    return this.pacer === undefined || this.pacer.allows(now);
  }

  /** Data waits for its rate. */
  protected get pacing(): boolean {
    return this.pacer?.waiting === true;
  }

  /** The newest frame of the writer was data of this queue pair. */
  protected frameSent(now: number, writer: FrameWriter): void {
    const { pacer } = this;
    if (pacer === undefined) return;
    pacer.sent(now, writer.lengths[writer.count - 1] as number);
    this.config.trace?.rate(this.qpn, pacer.controller);
    this.rateChanged(pacer);
  }

  /** Takes the alternate path, if there is one. */
  protected migrate(): boolean {
    const migrated = migrate(this.#settings);
    if (!migrated) return false;
    this.note('path-mig');
    this.port?.forget();
    return true;
  }

  /** The first request shows that the peer considers the connection established. */
  protected noteRequest(): void {
    if (this.#established) return;
    this.#established = true;
    this.note('first-request');
    if (this.current === QpState.Rtr) this.note('comm-est');
  }

  protected mayRespond(): boolean {
    const { respond } = rightsOf(this.current);
    if (!respond) this.counters.badState += 1;
    return respond;
  }

  protected note(event: QpSignal): void {
    this.#events ??= [];
    this.#events.push(event);
  }

  /** In SQD: reports when no send is under way any more. */
  protected noteDrained(): void {
    const started = this.sendQueue.length > 0 && this.sendQueue.at(this.sendQueue.head).started;
    if (!started && this.config.sqdNotify) this.note('sq-drained');
  }

  /** Completes all that is posted: the oldest send with `firstStatus`, the rest as flushed. */
  protected flush(firstStatus: WcStatus): void {
    this.flushSends(firstStatus);
    if (!this.recvQueue.shared) this.recvQueue.flush(this.qpn, this.config.recvCq);
    else if (!this.#lastWqeReached) {
      this.#lastWqeReached = true;
      this.note('last-wqe-reached');
    }
  }

  protected flushSends(firstStatus: WcStatus): void {
    const queue = this.sendQueue;
    let status = firstStatus;
    while (queue.length > 0) {
      const entry = queue.at(queue.head);
      this.completeSend(entry, status);
      entry.release();
      queue.shift();
      status = WcStatus.WrFlushErr;
    }
  }

  /** An error always completes, also of unsignalled work (ref:conformance#REQ-33). */
  protected completeSend(entry: SendEntry, status: WcStatus): void {
    const { sendCq } = this.config;
    const byteLen = status === WcStatus.Success ? completedBytes(entry) : 0;
    const wc = sendCq.push(this.qpn, entry.wrId, status, completionOpcode(entry.opcode), byteLen);
    if (wc !== undefined) sendCq.pushed(wc);
  }

  #noteMarked(now: number, frame: Frame, path: QpPath): void {
    const { config } = this;
    this.counters.npEcnMarkedRocePackets += 1;
    const notification = config.congestion?.notification;
    if (notification === undefined) return;
    if (notification.parameters.signal === 'ack') {
      // No ACK that could carry BECN follows a response.
      if ((frame.flags & OpFlag.Response) === 0) this.oweBecn();
      return;
    }
    this.#marked ??= new MarkedFlow();
    notification.marked(now, this.#marked, path.template, frame.pkey, config.destQpn);
  }

  #reset(): void {
    this.sendQueue.clear();
    if (!this.recvQueue.shared) this.recvQueue.clear();
    this.clearConnection();
    this.#events = undefined;
    this.broken = false;
    this.#established = false;
    this.#lastWqeReached = false;
    this.#marked = undefined;
    this.port?.forget();
    this.pacer = undefined;
    resetSettings(this.#settings);
    resetPaths(this.#settings, this.config.profile.migReq.value);
  }
}
