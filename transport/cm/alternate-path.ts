/**
 * Changing the alternate path of a connection: LAP and APR, on both sides.
 *
 * Owns: `loadAlternatePath`, `answerAlternatePath`, handling of LAP and APR. Never: a queue pair; an application that
 * answers 0 has loaded the path. MRA of a LAP is in refusal.ts, repetition in expiry.ts.
 *
 * Rules: states as rdma:cm.c (cm_lap_handler, cm_apr_handler, ib_send_cm_lap), which serves both messages on InfiniBand
 * only: on RoCE ib_core drops them, so no Linux peer answers a LAP of ours. LIDs are not looked at, and status 7 is
 * never sent (ref:conformance#ANX-36, ANX-37). SEC-14: both ids, the address and the queue pair have to be right; a
 * wrong queue pair from the right peer draws status 6.
 */
import {
  type CmApr,
  CmAprStatus,
  type CmLap,
  type CmMad,
  type CmPath,
  LID_PERMISSIVE,
} from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import type { Connection } from './connection.ts';
import { type CmCore, NO_BYTES } from './core.ts';
import { checkAlternatePath, checkRange } from './parameters.ts';
import { type AlternatePath, type CmId, CmInputStatus, DEFAULT_CM_RESPONSE_TIMEOUT, type MadOrigin } from './types.ts';

/** Sends LAP, repeated until APR comes. */
export function loadAlternatePath(
  core: CmCore,
  now: number,
  id: CmId,
  path: AlternatePath,
  privateData: Uint8Array,
): void {
  const connection = core.expect(id, 'loadAlternatePath', 'established');
  checkAlternatePath(path, privateData);
  if (connection.lap !== 'idle') {
    throw new RoceError('ERR_ROCE_STATE', `loadAlternatePath: connection ${id} is changing its alternate path`);
  }
  core.sendRepeatedly(now, connection, core.freshTransaction(), {
    kind: 'LAP',
    body: {
      localCommId: id,
      remoteCommId: connection.remoteCommId,
      remoteQpn: connection.remoteQpn,
      remoteCmResponseTimeout: DEFAULT_CM_RESPONSE_TIMEOUT,
      alternatePath: wirePath(path),
      privateData,
    },
  });
  connection.lap = 'lap-sent';
}

/** The application has loaded the path (status 0) or will not: APR. */
export function answerAlternatePath(
  core: CmCore,
  id: CmId,
  status: number,
  info: Uint8Array,
  privateData: Uint8Array,
): void {
  const connection = core.expect(id, 'answerAlternatePath', 'established');
  checkRange('status', status, 0, 0xff);
  const { lapSeen } = connection;
  if (lapSeen === undefined || (connection.lap !== 'lap-rcvd' && connection.lap !== 'mra-lap-sent')) {
    throw new RoceError('ERR_ROCE_STATE', `answerAlternatePath: connection ${id} was not asked`);
  }
  lapSeen.answer = core.sendTo(connection, lapSeen.transactionId, {
    kind: 'APR',
    body: aprOf(connection, status, info, privateData),
  });
  connection.lap = 'idle';
}

/** A LAP of a connection's own peer; others get no reply. */
export function handleLap(core: CmCore, mad: CmMad, lap: CmLap, origin: MadOrigin): CmInputStatus {
  const connection = core.table.byId(lap.remoteCommId);
  if (connection === undefined || connection.remoteCommId !== lap.localCommId) return CmInputStatus.UnknownId;
  if (!connection.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
  if (connection.state !== 'established') return CmInputStatus.UnexpectedState;
  const { transactionId } = mad.header;
  if (connection.localQpn !== lap.remoteQpn) {
    const body = aprOf(connection, CmAprStatus.InvalidQpnEecn, NO_BYTES, NO_BYTES);
    core.reply(origin, transactionId, { kind: 'APR', body });
    return CmInputStatus.WrongQpn;
  }
  const path = lap.alternatePath;
  const seen = connection.lapSeen;
  if (seen !== undefined && seen.transactionId === transactionId && samePath(seen.path, path)) {
    if (seen.answer !== undefined) core.sendAgain(connection, seen.answer);
    return CmInputStatus.Duplicate;
  }
  if (connection.lap !== 'idle') return CmInputStatus.UnexpectedState;
  connection.lap = 'lap-rcvd';
  connection.lapSeen = { transactionId, path, answer: undefined };
  core.emit(connection, {
    type: 'alternate-path-request',
    id: connection.id,
    path,
    privateData: lap.privateData,
  });
  return CmInputStatus.Ok;
}

/** The answer to a LAP of ours. */
export function handleApr(core: CmCore, apr: CmApr, connection: Connection): CmInputStatus {
  const waiting = connection.lap === 'lap-sent' || connection.lap === 'mra-lap-rcvd';
  if (connection.state !== 'established' || !waiting) return CmInputStatus.UnexpectedState;
  core.stopRepeating(connection);
  connection.lap = 'idle';
  core.emit(connection, {
    type: 'alternate-path-response',
    id: connection.id,
    status: apr.status,
    info: apr.info.subarray(0, apr.infoLength),
    privateData: apr.privateData,
  });
  return CmInputStatus.Ok;
}

/** Our LAP stayed without a reply: the connection stays as it is. */
export function lapUnanswered(core: CmCore, connection: Connection): void {
  core.stopRepeating(connection);
  connection.lap = 'idle';
  core.emit(connection, { type: 'alternate-path-unanswered', id: connection.id });
}

function aprOf(connection: Connection, status: number, info: Uint8Array, privateData: Uint8Array): CmApr {
  return {
    localCommId: connection.id,
    remoteCommId: connection.remoteCommId,
    infoLength: info.length,
    status,
    info,
    privateData,
  };
}

function wirePath({ local, remote, flowLabel, trafficClass, hopLimit, ackTimeout }: AlternatePath): CmPath {
  return {
    localLid: LID_PERMISSIVE,
    remoteLid: LID_PERMISSIVE,
    localGid: local,
    remoteGid: remote,
    flowLabel,
    packetRate: 0,
    trafficClass,
    hopLimit,
    serviceLevel: 0,
    subnetLocal: 0,
    localAckTimeout: ackTimeout,
  };
}

/** ib_core gives all LAPs of a connection one transaction id, so the id alone does not make a repetition. */
function samePath(a: CmPath, b: CmPath): boolean {
  return (
    a.localGid.equals(b.localGid) &&
    a.remoteGid.equals(b.remoteGid) &&
    a.flowLabel === b.flowLabel &&
    a.trafficClass === b.trafficClass &&
    a.hopLimit === b.hopLimit &&
    a.localAckTimeout === b.localAckTimeout
  );
}
