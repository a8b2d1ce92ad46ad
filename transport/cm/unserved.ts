/**
 * What connection management knows but this one does not serve: datagram service lookup and alternate paths.
 *
 * Each gets the answer that says so. A SIDR table for UD services and a path table for LAP would take the place of these functions.
 * Rules: CM-24 (ref:conformance#CM); status values rdma:ib_cm.h. ib_core stays silent on LAP over RoCE (rdma:cm.c#cm_lap_handler);
 * an answer spares the peer its retries.
 */
import { CmAprStatus, type CmLap, type CmMad, type CmSidrReq, CmSidrStatus } from '../../packets/cm/index.ts';
import { type CmCore, NO_BYTES } from './core.ts';
import { CmInputStatus, type MadOrigin } from './types.ts';

/** No datagram service is here. */
export function handleSidrReq(core: CmCore, mad: CmMad, req: CmSidrReq, origin: MadOrigin): CmInputStatus {
  core.reply(origin, mad.header.transactionId, {
    kind: 'SIDR_REP',
    body: {
      requestId: req.requestId,
      status: CmSidrStatus.Unsupported,
      infoLength: 0,
      vendorId: 0,
      qpn: 0,
      serviceId: req.serviceId,
      qkey: 0,
      info: NO_BYTES,
      privateData: NO_BYTES,
    },
  });
  return CmInputStatus.Unsupported;
}

/** No alternate path is taken. Only a connection's own peer gets an answer. */
export function handleLap(core: CmCore, mad: CmMad, lap: CmLap, origin: MadOrigin): CmInputStatus {
  const connection = core.table.byId(lap.remoteCommId);
  if (connection === undefined || connection.remoteCommId !== lap.localCommId) return CmInputStatus.UnknownId;
  if (!connection.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
  if (connection.localQpn !== lap.remoteQpn) return CmInputStatus.WrongQpn;
  if (connection.state !== 'established') return CmInputStatus.UnexpectedState;
  core.reply(origin, mad.header.transactionId, {
    kind: 'APR',
    body: {
      localCommId: lap.remoteCommId,
      remoteCommId: lap.localCommId,
      infoLength: 0,
      status: CmAprStatus.Unsupported,
      info: NO_BYTES,
      privateData: NO_BYTES,
    },
  });
  return CmInputStatus.Unsupported;
}
