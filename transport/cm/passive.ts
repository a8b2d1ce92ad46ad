/**
 * The side that listens: REQ comes in, REP goes out, RTU or the first data packet completes it.
 *
 * Owns: handling of REQ and RTU, and `accept`. Never: REJ and MRA (refusal.ts), the end of a connection (teardown.ts).
 * Rules: CM-01 unknown service, CM-02 repeated REQ absorbed, CM-04 REQ of a connection that has ended, CM-05 stale
 * connection, CM-08 second RTU, CM-09 data counts as RTU, CM-15 foreign GID, CM-16 depths crossed, CM-18 ids swapped,
 * CM-26 bounded table (ref:conformance#CM); order of checks as rdma:cm.c#cm_match_req.
 */
import {
  type CmMad,
  CmMessageRef,
  CmRejReason,
  type CmReq,
  type CmRtu,
  type CmTransportService,
  cmReqService,
  hasAlternatePath,
} from '../../packets/cm/index.ts';
import { Connection, type Listener } from './connection.ts';
import type { CmCore } from './core.ts';
import { NO_BYTES } from './core.ts';
import { checkAccept, isDataQpn } from './parameters.ts';
import { type SplitPrivateData, splitPrivateData } from './private-data.ts';
import { cmAction } from './states.ts';
import { startDisconnect } from './teardown.ts';
import { type AcceptParameters, CmInputStatus, type EstablishCause, type MadOrigin } from './types.ts';

/** A REQ: repetition, stale, refused, or a new half-open connection. */
export function handleReq(core: CmCore, now: number, mad: CmMad, req: CmReq, origin: MadOrigin): CmInputStatus {
  const known = core.table.byPeerId(origin.source, req.localCaGuid, req.localCommId);
  if (known !== undefined && !isNextAttempt(known, req)) return repeatedReq(core, mad, req, known, origin);
  if (known !== undefined) core.forget(known);

  const stale = core.table.byPeerQpn(origin.source, req.localCaGuid, req.localQpn);
  if (stale !== undefined) {
    refuseReq(core, mad, req, origin, CmRejReason.StaleConnection);
    tearDownStale(core, now, stale);
    return CmInputStatus.Stale;
  }
  const listener = core.listeners.get(req.serviceId);
  if (listener === undefined) {
    refuseReq(core, mad, req, origin, CmRejReason.InvalidServiceId);
    return CmInputStatus.NoListener;
  }
  const checked = check(req, listener, origin);
  if ('reason' in checked) {
    refuseReq(core, mad, req, origin, checked.reason, checked.info);
    return CmInputStatus.Refused;
  }
  // Dropped in silence the peer repeats, and a flood gets nothing back: what rdma_cm does (rdma:cm.c#cm_destroy_id,
  // ENOMEM).
  const source = `${origin.source}`;
  if (core.shares.countOf(listener, source) >= core.maxPendingPerSource) return CmInputStatus.SourceFull;
  if (listener.waiting >= listener.backlog) {
    const victim = core.shares.victimAt(listener, source);
    if (victim === undefined) {
      if (listener.whenFull === 'reject') refuseReq(core, mad, req, origin, CmRejReason.NoResources);
      return CmInputStatus.BacklogFull;
    }
    core.displace(victim);
  }
  const id = makeRoom(core, listener, source) ? core.unusedId() : undefined;
  if (id === undefined) return CmInputStatus.TableFull;
  open(core, now, id, mad, req, listener, origin, checked);
  return CmInputStatus.Ok;
}

/** RTU: the connection stands. */
export function handleRtu(core: CmCore, rtu: CmRtu, connection: Connection): CmInputStatus {
  switch (cmAction('RTU', connection.state)) {
    case 'establish':
      establish(core, connection, 'rtu', rtu.privateData);
      return CmInputStatus.Ok;
    case 'absorb':
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

/** The application takes the request: REP, repeated until RTU or data comes. */
export function accept(core: CmCore, now: number, id: number, parameters: AcceptParameters): void {
  const connection = core.expect(id, 'accept', 'req-rcvd', 'mra-req-sent');
  checkAccept(parameters);
  const initiatorDepth = Math.min(parameters.initiatorDepth, connection.initiatorDepth);
  const responderResources = Math.min(parameters.responderResources, connection.responderResources);
  // An XRC target receives into shared queues and starts nothing (rdma:cm.c#cm_format_rep).
  const target = connection.service === 'xrc';
  core.sendRepeatedly(now, connection, connection.transactionId, {
    kind: 'REP',
    body: {
      localCommId: connection.id,
      remoteCommId: connection.remoteCommId,
      localQkey: 0,
      localQpn: target ? 0 : parameters.qpn,
      localEecn: target ? parameters.qpn : 0,
      startingPsn: parameters.startingPsn,
      vendorId: 0,
      responderResources,
      initiatorDepth: target ? 0 : initiatorDepth,
      targetAckDelay: core.targetAckDelay,
      failoverAccepted: parameters.failoverAccepted ?? (connection.alternatePathOffered ? 1 : 0),
      endToEndFlowControl: !target && parameters.flowControl === true ? 1 : 0,
      rnrRetryCount: parameters.rnrRetryCount,
      srq: target || parameters.srq === true ? 1 : 0,
      localCaGuid: core.caGuid,
      privateData: parameters.privateData ?? NO_BYTES,
    },
  });
  core.leaveBacklog(connection);
  core.table.removePending(connection);
  connection.initiatorDepth = initiatorDepth;
  connection.responderResources = responderResources;
  connection.localQpn = parameters.qpn;
  connection.answer = undefined;
  connection.state = 'rep-sent';
  core.table.linkLocalQpn(connection);
}

/** Data has arrived for a queue pair that waits for RTU. True when that established a connection. */
export function notifyTraffic(core: CmCore, qpn: number): boolean {
  const connection = core.table.byLocalQpn(qpn);
  if (connection === undefined) return false;
  establish(core, connection, 'traffic', NO_BYTES);
  return true;
}

/** The peer has started anew on a queue pair that we believe connected (CM-05): end the old connection. */
export function tearDownStale(core: CmCore, now: number, stale: Connection): void {
  if (stale.state !== 'established') return;
  startDisconnect(core, now, stale, NO_BYTES);
  core.emit(stale, { type: 'disconnected', id: stale.id, cause: 'stale', privateData: NO_BYTES });
  stale.endReported = true;
}

function establish(core: CmCore, connection: Connection, cause: EstablishCause, privateData: Uint8Array): void {
  core.settle(connection);
  core.emit(connection, { type: 'established', id: connection.id, cause, privateData });
}

function repeatedReq(core: CmCore, mad: CmMad, req: CmReq, connection: Connection, origin: MadOrigin): CmInputStatus {
  const action = cmAction('REQ', connection.state);
  // No repetition, then: the peer names another queue pair while we have a connection of that name.
  if (connection.remoteQpn !== req.localQpn && action !== 'reject-stale') {
    refuseReq(core, mad, req, origin, CmRejReason.DuplicateLocalCommId);
    return CmInputStatus.DuplicateCommId;
  }
  switch (action) {
    case 'absorb':
      // The peer is there, and lacks our REP.
      connection.unprovenReps = Math.max(connection.unprovenReps, 1);
      return CmInputStatus.Duplicate;
    case 'answer-again':
      if (connection.state !== 'mra-req-sent' || core.mayTell(connection)) core.answerAgain(connection);
      return CmInputStatus.Duplicate;
    case 'reject-stale':
      refuseReq(core, mad, req, origin, CmRejReason.StaleConnection);
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

/** We have refused a request of that name, and this is not the same again. */
function isNextAttempt(refused: Connection, req: CmReq): boolean {
  return refused.state === 'rejected' && refused.remoteQpn !== req.localQpn;
}

/** A REJ for a REQ of which nothing is kept: our id is 0 (rdma:cm.c#cm_issue_rej). */
function refuseReq(
  core: CmCore,
  mad: CmMad,
  req: CmReq,
  origin: MadOrigin,
  reason: number,
  info: Uint8Array = NO_BYTES,
): void {
  core.reply(origin, mad.header.transactionId, {
    kind: 'REJ',
    body: {
      localCommId: 0,
      remoteCommId: req.localCommId,
      messageRejected: CmMessageRef.Req,
      infoLength: info.length,
      reason,
      info,
      privateData: NO_BYTES,
    },
  });
}

interface Checked extends SplitPrivateData {
  readonly service: CmTransportService;
}

interface Fault {
  readonly reason: number;
  readonly info?: Uint8Array;
}

/** What in the request makes a connection impossible, if anything does. */
function check(req: CmReq, listener: Listener, origin: MadOrigin): Checked | Fault {
  const service = cmReqService(req);
  if (service === undefined || !listener.services.includes(service)) {
    return { reason: CmRejReason.InvalidTransportType };
  }
  // CM-15. The packet was delivered to us, so its destination is ours; the path must lead to the same two addresses.
  if (!req.primaryPath.remoteGid.equals(origin.destination) || !req.primaryPath.localGid.equals(origin.source)) {
    const info = new Uint8Array(16);
    origin.destination.writeGid(new DataView(info.buffer), 0);
    return { reason: CmRejReason.InvalidGid, info };
  }
  if (req.pathMtu < 1 || req.pathMtu > 5) return { reason: CmRejReason.InvalidMtu };
  if (!isDataQpn(req.localQpn)) return { reason: CmRejReason.Unsupported };
  const split = splitPrivateData(req.serviceId, req.privateData);
  return split === undefined ? { reason: CmRejReason.ConsumerDefined } : { service, ...split };
}

/** True when another request fits, for which a refused one may have to go, or one of a source that has more. */
function makeRoom(core: CmCore, listener: Listener, source: string): boolean {
  if (core.table.pendingCount < core.maxPending) return true;
  const refused = core.table.oldestRejected();
  if (refused !== undefined) core.forget(refused);
  else {
    const victim = core.shares.victim(listener, source);
    if (victim === undefined) return false;
    core.displace(victim);
  }
  return true;
}

function open(
  core: CmCore,
  now: number,
  id: number,
  mad: CmMad,
  req: CmReq,
  listener: Listener,
  origin: MadOrigin,
  { service, ipHeader, privateData }: Checked,
): void {
  const responseTimeoutNs = core.responseTimeoutNs(req.localCmResponseTimeout);
  const connection = new Connection({
    id,
    role: 'passive',
    service,
    local: origin.destination,
    remote: origin.source,
    transactionId: mad.header.transactionId,
    maxRetries: req.maxCmRetries,
    responseTimeoutNs,
    timewaitNs: core.timewaitNs(req.primaryPath.localAckTimeout),
    unprovenReps: core.maxUnprovenReps,
  });
  connection.remoteCommId = req.localCommId;
  connection.remoteCaGuid = req.localCaGuid;
  connection.remoteQpn = req.localQpn;
  // CM-16: what the peer may start is what we must answer, and the other way round.
  connection.initiatorDepth = req.responderResources;
  connection.responderResources = req.initiatorDepth;
  connection.alternatePathOffered = hasAlternatePath(req);
  connection.listener = listener;
  listener.waiting++;
  core.shares.add(listener, `${origin.source}`, connection);
  core.table.add(connection);
  core.table.linkPeer(connection);
  core.table.addPending(connection);
  core.table.schedule(connection, now + core.requestLifetimeNs);
  core.emit(connection, {
    type: 'connect-request',
    id,
    request: req,
    service,
    ipHeader,
    privateData,
    source: origin.source,
    destination: origin.destination,
  });
}
