/**
 * The end of a connection: DREQ and DREP.
 *
 * Owns: handling of DREQ and DREP, `disconnect`. Never: REJ (refusal.ts).
 * Rules: CM-10 DREQ draws DREP and TIMEWAIT, CM-11 unknown ids draw DREP too, CM-12 wrong queue pair is ignored, CM-13
 * DREP again in TIMEWAIT, CM-14 unexpected DREP is ignored (ref:conformance#CM); SEC-14: local id, remote id, queue
 * pair and address must all be right.
 */
import type { CmDrep, CmDreq, CmMad } from '../../packets/cm/index.ts';
import type { Connection } from './connection.ts';
import type { CmCore } from './core.ts';
import { NO_BYTES } from './core.ts';
import { cmAction } from './states.ts';
import { type CmId, CmInputStatus, type MadOrigin } from './types.ts';

/** A DREQ, whether or not its connection is known. */
export function handleDreq(core: CmCore, now: number, mad: CmMad, dreq: CmDreq, origin: MadOrigin): CmInputStatus {
  const connection = core.table.byId(dreq.remoteCommId);
  if (connection === undefined || connection.remoteCommId !== dreq.localCommId) {
    // The peer must get rid of what we no longer know.
    sendDrep(core, mad, dreq, origin);
    return CmInputStatus.UnknownId;
  }
  if (!connection.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
  if (connection.localQpn !== dreq.remoteQpn) return CmInputStatus.WrongQpn;
  switch (cmAction('DREQ', connection.state)) {
    case 'disconnect':
      sendDrep(core, mad, dreq, origin);
      core.disconnected(now, connection, 'dreq', dreq.privateData);
      return CmInputStatus.Ok;
    case 'drep-again':
      sendDrep(core, mad, dreq, origin);
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

/** A DREP for one of our connections. */
export function handleDrep(core: CmCore, now: number, drep: CmDrep, connection: Connection): CmInputStatus {
  switch (cmAction('DREP', connection.state)) {
    case 'drep-received':
      core.disconnected(now, connection, 'drep', drep.privateData);
      return CmInputStatus.Ok;
    case 'absorb':
      return CmInputStatus.Duplicate;
    default:
      return CmInputStatus.UnexpectedState;
  }
}

/** The application ends the connection. Does nothing when it is ending already: the peer may have been faster. */
export function disconnect(core: CmCore, now: number, id: CmId, privateData: Uint8Array): void {
  const connection = core.expect(id, 'disconnect', 'established', 'dreq-sent', 'timewait');
  if (connection.state === 'established') startDisconnect(core, now, connection, privateData);
}

/** Sends DREQ, repeated until DREP comes. */
export function startDisconnect(core: CmCore, now: number, connection: Connection, privateData: Uint8Array): void {
  core.sendRepeatedly(now, connection, core.transactionOf(connection.id), {
    kind: 'DREQ',
    body: {
      localCommId: connection.id,
      remoteCommId: connection.remoteCommId,
      remoteQpn: connection.remoteQpn,
      privateData,
    },
  });
  connection.state = 'dreq-sent';
}

function sendDrep(core: CmCore, mad: CmMad, dreq: CmDreq, origin: MadOrigin): void {
  core.reply(origin, mad.header.transactionId, {
    kind: 'DREP',
    body: { localCommId: dreq.remoteCommId, remoteCommId: dreq.localCommId, privateData: NO_BYTES },
  });
}
