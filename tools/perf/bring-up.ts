/**
 * Brings a test's queue pairs to RTS by hand, with the numbers that both sides exchanged.
 *
 * Owns the attributes, service by service. Source: perftest_resources.c#ctx_connect and #ctx_modify_qp_to_rtr, -_rts.
 * Never exchanges anything, and nothing of -R: cm-connections.ts.
 */

import type { RdmaQp } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { QpState } from 'rocev2/transport';
import type { PerfDest } from './dest.ts';
import { ACCESS, type PerfSession } from './session.ts';

/** From RESET to INIT, with everything allowed; a datagram queue pair takes what carries `qkey`. */
export function initialize({ options }: PerfSession, qp: RdmaQp, qkey = PERF_QKEY): void {
  qp.modifyNow({ state: QpState.Init, ...(options.service === 'UD' ? { qkey } : { access: ACCESS }) });
}

/** All queue pairs of the session, each with that of the peer in the same place (ctx_connect). */
export async function bringToRts(session: PerfSession, remote: readonly PerfDest[], mtu: number): Promise<void> {
  for (const [i, qp] of session.qps.entries()) {
    const theirs = remote[i];
    const ours = session.local[i];
    if (theirs === undefined || ours === undefined) throw new RoceError('ERR_ROCE_STATE', 'a peer is missing');
    initialize(session, qp);
    if (session.options.service === 'UD') {
      readyForDatagrams(qp, ours.psn);
      const ah = await session.pd.createAh(session.vectorTo(theirs));
      session.datagramPeers[i] = { ah, qpn: theirs.qpn, qkey: PERF_QKEY };
    } else await connect(session, qp, ours, theirs, mtu);
  }
}

/** From INIT to RTS: a datagram queue pair knows no peer. */
export function readyForDatagrams(qp: RdmaQp, sqPsn: number): void {
  qp.modifyNow({ state: QpState.Rtr });
  qp.modifyNow({ state: QpState.Rts, sqPsn });
}

async function connect(session: PerfSession, qp: RdmaQp, ours: PerfDest, theirs: PerfDest, mtu: number): Promise<void> {
  const { service, ackTimeout, retryCount } = session.options;
  const reliable = service === 'RC';
  await qp.modify({
    state: QpState.Rtr,
    av: session.vectorTo(theirs),
    destQpn: theirs.qpn,
    rqPsn: theirs.psn,
    mtu,
    ...(reliable ? { maxDestRdAtomic: ours.outReads, minRnrTimer: MIN_RNR_TIMER } : {}),
  });
  const retries = { timeout: ackTimeout, retryCnt: retryCount, rnrRetry: INFINITE_RETRY };
  const depth = { maxRdAtomic: Math.min(theirs.outReads, MAX_DEPTH) };
  qp.modifyNow({ state: QpState.Rts, sqPsn: ours.psn, ...(reliable ? { ...retries, ...depth } : {}) });
}

/** DEF_QKEY of perftest. */
const PERF_QKEY = 0x11_11_11_11;
const MIN_RNR_TIMER = 12;
const INFINITE_RETRY = 7;
const MAX_DEPTH = 255;
