/**
 * "No" and "later": REJ and MRA, in both directions.
 *
 * Owns: handling of REJ and MRA, `reject`, `sendMra`, and the REJ that ends an attempt without answer.
 * Rules: CM-03 repeated REQ after MRA (ref:conformance#CM); which connection a REJ is for as
 * rdma:cm.c#cm_acquire_rejected_id: a REJ of a REQ knows only our id, a REJ for a timeout may know only the peer's own
 * GUID and id, any other names both ids. SEC-14: the address must be right as well, and a REJ without our id ends
 * half-open attempts only.
 */
import { CmMessageRef, type CmMra, type CmRej, CmRejReason, cmRejInfo } from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import type { Connection } from './connection.ts';
import { type CmCore, encodeMad, NO_BYTES } from './core.ts';
import { checkRange } from './parameters.ts';
import { cmAction } from './states.ts';
import { type CmId, CmInputStatus, type MadOrigin } from './types.ts';

export function handleRej(core: CmCore, now: number, rej: CmRej, origin: MadOrigin): CmInputStatus {
  const connection = rejectedConnection(core, rej, origin);
  if (connection === undefined) return CmInputStatus.UnknownId;
  if (!connection.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
  const event = {
    type: 'rejected',
    id: connection.id,
    reason: rej.reason,
    info: cmRejInfo(rej),
    privateData: rej.privateData,
  } as const;
  switch (cmAction('REJ', connection.state)) {
    case 'refused':
      // A stale connection means that old packets for this queue pair may be about.
      if (rej.reason === CmRejReason.StaleConnection) core.enterTimewait(now, connection);
      else core.forget(connection);
      core.emit(connection, event);
      return CmInputStatus.Ok;
    case 'refused-timewait':
      core.enterTimewait(now, connection);
      core.emit(connection, event);
      return CmInputStatus.Ok;
    case 'torn-down':
      core.disconnected(now, connection, 'rej', rej.privateData);
      return CmInputStatus.Ok;
    case 'absorb':
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

export function handleMra(core: CmCore, now: number, mra: CmMra, origin: MadOrigin): CmInputStatus {
  const connection = core.table.byId(mra.remoteCommId);
  if (connection === undefined) return CmInputStatus.UnknownId;
  const ofReq = connection.role === 'active' && mra.messageMraed === CmMessageRef.Req;
  const ofRep = connection.role === 'passive' && mra.messageMraed === CmMessageRef.Rep;
  const ofLap = mra.messageMraed === CmMessageRef.Other;
  const known = connection.remoteCommId === mra.localCommId;
  if (!ofReq && !((ofRep || ofLap) && known)) return CmInputStatus.UnknownId;
  if (!connection.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
  if (ofLap) return postponeLap(core, now, mra, connection);
  switch (cmAction('MRA', connection.state)) {
    case 'postpone':
      connection.state = ofReq ? 'mra-req-rcvd' : 'mra-rep-rcvd';
      postpone(core, now, mra, connection);
      return CmInputStatus.Ok;
    case 'absorb':
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

function postponeLap(core: CmCore, now: number, mra: CmMra, connection: Connection): CmInputStatus {
  if (connection.state !== 'established') return CmInputStatus.UnexpectedState;
  if (connection.lap === 'mra-lap-rcvd') return CmInputStatus.Duplicate;
  if (connection.lap !== 'lap-sent') return CmInputStatus.UnexpectedState;
  connection.lap = 'mra-lap-rcvd';
  postpone(core, now, mra, connection);
  return CmInputStatus.Ok;
}

/** The next repetition waits that much longer, and so do those after it (rdma:cm.c#cm_mra_handler). */
function postpone(core: CmCore, now: number, mra: CmMra, connection: Connection): void {
  connection.intervalNs = connection.responseTimeoutNs + core.serviceTimeoutNs(mra.serviceTimeout);
  core.table.schedule(connection, now + connection.intervalNs);
  core.emit(connection, {
    type: 'mra',
    id: connection.id,
    serviceTimeout: mra.serviceTimeout,
    privateData: mra.privateData,
  });
}

/** The application refuses a request or a response. The refusal is repeated when the peer repeats itself. */
export function reject(
  core: CmCore,
  now: number,
  id: CmId,
  reason: number,
  privateData: Uint8Array,
  info: Uint8Array = NO_BYTES,
): void {
  const connection = core.expect(id, 'reject', 'req-rcvd', 'mra-req-sent', 'rep-rcvd', 'mra-rep-sent');
  checkRange('reason', reason, 1, 0xff_ff);
  connection.answer = core.sendTo(connection, connection.transactionId, {
    kind: 'REJ',
    body: {
      // The peer does not have our id as long as it has sent its REQ only (rdma:cm.c#cm_format_rej).
      localCommId: connection.state === 'req-rcvd' ? 0 : id,
      remoteCommId: connection.remoteCommId,
      messageRejected: connection.role === 'passive' ? CmMessageRef.Req : CmMessageRef.Rep,
      infoLength: info.length,
      reason,
      info,
      privateData,
    },
  });
  core.leaveBacklog(connection);
  connection.state = 'rejected';
  connection.detached = true;
  connection.request = undefined;
  core.table.unlinkPeer(connection);
  if (connection.role === 'passive') {
    core.table.addPending(connection);
    const oldest = core.table.pendingCount > core.maxPending ? core.table.oldestRejected() : undefined;
    if (oldest !== undefined && oldest !== connection) core.forget(oldest);
  }
  // As long as the peer can repeat itself, and a little more for its last message to arrive.
  core.table.schedule(connection, now + (connection.maxRetries + 2) * connection.responseTimeoutNs);
}

/**
 * Tells the peer that the answer takes up to 4.096 us * 2^serviceTimeout longer.
 * `deferred`: only when the peer repeats its message, as rdma_cm does. Of several MRAs a Linux peer heeds the first.
 */
export function sendMra(core: CmCore, now: number, id: CmId, serviceTimeout: number, deferred: boolean): void {
  const waiting = ['req-rcvd', 'mra-req-sent', 'rep-rcvd', 'mra-rep-sent', 'established'] as const;
  const connection = core.expect(id, 'sendMra', ...waiting);
  checkRange('serviceTimeout', serviceTimeout, 0, 31);
  if (connection.state === 'established') {
    sendMraOfLap(core, connection, serviceTimeout, deferred);
    return;
  }
  const passive = connection.role === 'passive';
  const messageMraed = passive ? CmMessageRef.Req : CmMessageRef.Rep;
  connection.answer = mraOf(connection, connection.transactionId, messageMraed, serviceTimeout);
  if (!deferred) core.sendAgain(connection, connection.answer, false);
  connection.state = passive ? 'mra-req-sent' : 'mra-rep-sent';
  if (passive) {
    core.table.schedule(connection, now + core.requestLifetimeNs + core.serviceTimeoutNs(serviceTimeout));
  }
}

function sendMraOfLap(core: CmCore, connection: Connection, serviceTimeout: number, deferred: boolean): void {
  const { lapSeen } = connection;
  if (lapSeen === undefined || (connection.lap !== 'lap-rcvd' && connection.lap !== 'mra-lap-sent')) {
    throw new RoceError('ERR_ROCE_STATE', `sendMra: nothing of connection ${connection.id} waits for an answer`);
  }
  lapSeen.answer = mraOf(connection, lapSeen.transactionId, CmMessageRef.Other, serviceTimeout);
  if (!deferred) core.sendAgain(connection, lapSeen.answer, false);
  connection.lap = 'mra-lap-sent';
}

function mraOf(connection: Connection, tid: bigint, messageMraed: number, serviceTimeout: number): Uint8Array {
  return encodeMad(tid, {
    kind: 'MRA',
    body: {
      localCommId: connection.id,
      remoteCommId: connection.remoteCommId,
      messageMraed,
      serviceTimeout,
      privateData: NO_BYTES,
    },
  });
}

/**
 * Ends an attempt of ours with a REJ, which has no reply, so that the peer need not wait for its own timers.
 * `Timeout` carries our GUID: with our id it names the attempt even when we never learned the peer's id.
 */
export function sendLastRej(core: CmCore, connection: Connection, reason: number): void {
  const info = new Uint8Array(reason === CmRejReason.Timeout ? 8 : 0);
  if (info.length > 0) new DataView(info.buffer).setBigUint64(0, core.caGuid);
  core.sendTo(connection, connection.transactionId, {
    kind: 'REJ',
    body: {
      localCommId: connection.id,
      remoteCommId: connection.remoteCommId,
      messageRejected: CmMessageRef.Other,
      infoLength: info.length,
      reason,
      info,
      privateData: NO_BYTES,
    },
  });
}

function rejectedConnection(core: CmCore, rej: CmRej, origin: MadOrigin): Connection | undefined {
  if (rej.remoteCommId === 0) return rej.reason === CmRejReason.Timeout ? timedOut(core, rej, origin) : undefined;
  const connection = core.table.byId(rej.remoteCommId);
  if (connection === undefined) return undefined;
  if (rej.messageRejected === CmMessageRef.Req) {
    const waiting = connection.state === 'req-sent' || connection.state === 'mra-req-rcvd';
    return waiting ? connection : undefined;
  }
  // Before the first REP the peer's id is unknown, and a REJ that names one cannot be checked.
  return connection.remoteCommId === rej.localCommId ? connection : undefined;
}

/** The half-open attempt whose active side has given up without ever learning our id. */
function timedOut(core: CmCore, rej: CmRej, origin: MadOrigin): Connection | undefined {
  const info = cmRejInfo(rej);
  if (info.length < 8) return undefined;
  const caGuid = new DataView(info.buffer, info.byteOffset, info.byteLength).getBigUint64(0);
  const connection = core.table.byPeerId(origin.source, caGuid, rej.localCommId);
  if (connection === undefined) return undefined;
  // An active connection is known by its peer's id only after REP, when REJ does more than refuse.
  return cmAction('REJ', connection.state) === 'refused' ? connection : undefined;
}
