/**
 * The side that connects: REQ goes out, REP comes in, `ready` answers with RTU.
 *
 * Owns: handling of REP, `connect` and `ready`. Never: REJ and MRA (refusal.ts), the end of a connection (teardown.ts).
 * Rules: CM-05 stale connection, CM-06 repeated REP draws RTU again, CM-07 unknown REP, CM-16 depths crossed, CM-18 ids
 * swapped, CM-20 one IP version, CM-21 repetitions, CM-23 IP CM header (ref:conformance#CM). UC and XRC as
 * rdma:cm_msgs.h and rdma:cm.c#cm_format_req have them. Field values as rdma_rxe hosts send them
 * (test/vectors/cm-mads.ts): permissive LIDs, rate 0, hop limit 64.
 */
import {
  type CmMad,
  CmMessageRef,
  CmRejReason,
  type CmRep,
  type CmReq,
  cmRepQpn,
  cmTransportFields,
  ipCmHeaderRule,
  LID_PERMISSIVE,
  NO_PATH,
} from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import { GSI_PKEY } from '../../packets/mad.ts';
import { Connection } from './connection.ts';
import { type CmCore, NO_BYTES } from './core.ts';
import { checkConnect, isDataQpn } from './parameters.ts';
import { tearDownStale } from './passive.ts';
import { behindIpCmHeader } from './private-data.ts';
import { cmAction } from './states.ts';
import {
  type CmId,
  CmInputStatus,
  type ConnectParameters,
  codeToNs,
  DEFAULT_CM_RESPONSE_TIMEOUT,
  DEFAULT_CM_RETRIES,
  type MadOrigin,
} from './types.ts';

/** Sends REQ, repeated until something comes back. */
export function connect(core: CmCore, now: number, parameters: ConnectParameters): CmId {
  checkConnect(parameters);
  const id = core.unusedId();
  if (id === undefined) throw new RoceError('ERR_ROCE_LIMIT', 'no communication id is free');
  const connection = new Connection({
    id,
    role: 'active',
    service: parameters.service ?? 'rc',
    local: parameters.local,
    remote: parameters.remote,
    transactionId: core.transactionOf(id),
    maxRetries: parameters.maxCmRetries ?? DEFAULT_CM_RETRIES,
    responseTimeoutNs: codeToNs(parameters.cmResponseTimeout ?? DEFAULT_CM_RESPONSE_TIMEOUT),
    timewaitNs: core.timewaitNs(parameters.ackTimeout),
  });
  connection.localQpn = parameters.qpn;
  connection.initiatorDepth = parameters.initiatorDepth;
  connection.responderResources = parameters.responderResources;
  core.table.add(connection);
  core.sendRepeatedly(now, connection, connection.transactionId, {
    kind: 'REQ',
    body: requestOf(core, id, parameters),
  });
  return id;
}

/** A REP for one of our connections. */
export function handleRep(
  core: CmCore,
  now: number,
  mad: CmMad,
  rep: CmRep,
  connection: Connection,
  origin: MadOrigin,
): CmInputStatus {
  const action = cmAction('REP', connection.state);
  if (action === 'respond') return firstRep(core, now, mad, rep, connection, origin);
  // After the first REP the peer's id is known, and a REP with another one is not from this connection.
  if (connection.remoteCommId !== rep.localCommId) return CmInputStatus.UnknownId;
  switch (action) {
    case 'answer-again':
      core.answerAgain(connection);
      return CmInputStatus.Duplicate;
    case 'absorb':
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

/** The application has its queue pair ready to send: RTU. */
export function ready(core: CmCore, id: CmId, privateData: Uint8Array): void {
  const connection = core.expect(id, 'ready', 'rep-rcvd', 'mra-rep-sent');
  connection.answer = core.sendTo(connection, connection.transactionId, {
    kind: 'RTU',
    body: { localCommId: id, remoteCommId: connection.remoteCommId, privateData },
  });
  core.settle(connection);
  core.emit(connection, { type: 'established', id, cause: 'ready', privateData: NO_BYTES });
}

function firstRep(
  core: CmCore,
  now: number,
  mad: CmMad,
  rep: CmRep,
  connection: Connection,
  origin: MadOrigin,
): CmInputStatus {
  if (core.table.byPeerId(origin.source, rep.localCaGuid, rep.localCommId) !== undefined)
    return CmInputStatus.Duplicate;
  const remoteQpn = cmRepQpn(rep, connection.service);
  const stale = core.table.byPeerQpn(origin.source, rep.localCaGuid, remoteQpn);
  if (stale !== undefined) {
    refuseRep(core, mad, rep, origin, CmRejReason.StaleConnection);
    tearDownStale(core, now, stale);
    return CmInputStatus.Stale;
  }
  if (!isDataQpn(remoteQpn)) {
    refuseRep(core, mad, rep, origin, CmRejReason.Unsupported);
    return CmInputStatus.Refused;
  }
  core.stopRepeating(connection);
  connection.remoteCommId = rep.localCommId;
  connection.remoteCaGuid = rep.localCaGuid;
  connection.remoteQpn = remoteQpn;
  connection.initiatorDepth = Math.min(connection.initiatorDepth, rep.responderResources);
  connection.responderResources = Math.min(connection.responderResources, rep.initiatorDepth);
  connection.state = 'rep-rcvd';
  core.table.linkPeer(connection);
  core.emit(connection, {
    type: 'connect-response',
    id: connection.id,
    rep,
    remoteQpn,
    privateData: rep.privateData,
    initiatorDepth: connection.initiatorDepth,
    responderResources: connection.responderResources,
  });
  return CmInputStatus.Ok;
}

function refuseRep(core: CmCore, mad: CmMad, rep: CmRep, origin: MadOrigin, reason: number): void {
  core.reply(origin, mad.header.transactionId, {
    kind: 'REJ',
    body: {
      localCommId: rep.remoteCommId,
      remoteCommId: rep.localCommId,
      messageRejected: CmMessageRef.Rep,
      infoLength: 0,
      reason,
      info: NO_BYTES,
      privateData: NO_BYTES,
    },
  });
}

function requestOf(core: CmCore, id: CmId, parameters: ConnectParameters): CmReq {
  const timeout = parameters.cmResponseTimeout ?? DEFAULT_CM_RESPONSE_TIMEOUT;
  const { service = 'rc' } = parameters;
  // An XRC initiator answers nothing and receives nothing: the target has these numbers (rdma:cm.c#cm_format_req).
  const answering = service === 'xrc' ? 0 : 1;
  return {
    localCommId: id,
    vendorId: 0,
    serviceId: parameters.serviceId,
    localCaGuid: core.caGuid,
    localQkey: 0,
    localQpn: parameters.qpn,
    responderResources: answering * parameters.responderResources,
    localEecn: 0,
    initiatorDepth: parameters.initiatorDepth,
    remoteEecn: 0,
    remoteCmResponseTimeout: timeout,
    ...cmTransportFields(service),
    endToEndFlowControl: parameters.flowControl === true ? 1 : 0,
    startingPsn: parameters.startingPsn,
    localCmResponseTimeout: timeout,
    retryCount: answering * parameters.retryCount,
    partitionKey: parameters.partitionKey ?? GSI_PKEY,
    pathMtu: parameters.mtu,
    rdcExists: 0,
    rnrRetryCount: answering * parameters.rnrRetryCount,
    maxCmRetries: parameters.maxCmRetries ?? DEFAULT_CM_RETRIES,
    srq: answering === 1 && parameters.srq === true ? 1 : 0,
    primaryPath: {
      localLid: LID_PERMISSIVE,
      remoteLid: LID_PERMISSIVE,
      localGid: parameters.local,
      remoteGid: parameters.remote,
      flowLabel: parameters.flowLabel ?? core.random.u32() >>> 12,
      packetRate: 0,
      trafficClass: parameters.trafficClass ?? 0,
      hopLimit: parameters.hopLimit ?? DEFAULT_HOP_LIMIT,
      serviceLevel: 0,
      subnetLocal: 0,
      localAckTimeout: parameters.ackTimeout,
    },
    alternatePath: NO_PATH,
    sapSupported: 0,
    privateData: privateDataOf(parameters),
  };
}

function privateDataOf({ serviceId, localPort, local, remote, privateData = NO_BYTES }: ConnectParameters): Uint8Array {
  if (ipCmHeaderRule(serviceId) === 'never') return privateData;
  return behindIpCmHeader({ sourcePort: localPort, source: local, destination: remote }, privateData);
}

/** 64, what Linux sends. */
const DEFAULT_HOP_LIMIT = 64;
