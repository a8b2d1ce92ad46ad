/**
 * What happens when a deadline comes, and when the application gives up: the two ways in which a connection moves
 * without a message.
 *
 * Owns: repetitions and their end (CM-21), expiry of half-open connections (CM-26), end of TIMEWAIT, `destroy`.
 * Source for `destroy`: rdma:cm.c#cm_destroy_id.
 */
import { CmRejReason } from '../../packets/cm/index.ts';
import { lapUnanswered } from './alternate-path.ts';
import type { Connection } from './connection.ts';
import { type CmCore, NO_BYTES } from './core.ts';
import { reject, sendLastRej } from './refusal.ts';
import { startDisconnect } from './teardown.ts';
import type { CmId, CmInspection } from './types.ts';

/** Handles the deadlines that have come. Throws the first error of ours when all have been handled. */
export function expireDue(core: CmCore, now: number): void {
  const errors: unknown[] = [];
  for (const connection of core.table.due(now)) {
    try {
      expire(core, now, connection);
    } catch (error) {
      errors.push(error);
      drop(core, connection);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Nothing is known of its state any more; the application learns that it has ended. */
function drop(core: CmCore, connection: Connection): void {
  core.table.schedule(connection, Number.POSITIVE_INFINITY);
  core.emit(connection, { type: 'unreachable', id: connection.id, waitingFor: 'application' });
  core.emit(connection, { type: 'timewait-exit', id: connection.id });
  core.forget(connection);
}

/** What the deadline of a connection brings. */
export function dueNext({ request, retriesLeft, proven, unprovenReps }: Connection): CmInspection['next'] {
  if (request === undefined || retriesLeft === 0) return 'expire';
  return proven || unprovenReps > 0 ? 'repeat' : 'wait';
}

/** Handles the deadline of one connection, which has come. */
function expire(core: CmCore, now: number, connection: Connection): void {
  const due = dueNext(connection);
  if (due !== 'expire') {
    connection.retriesLeft--;
    if (due === 'repeat' && connection.request !== undefined) {
      if (!connection.proven) connection.unprovenReps--;
      core.sendAgain(connection, connection.request);
    }
    core.table.schedule(connection, now + connection.intervalNs);
    return;
  }
  switch (connection.state) {
    case 'req-sent':
    case 'mra-req-rcvd':
      giveUp(core, connection, 'REP');
      break;
    case 'rep-sent':
    case 'mra-rep-rcvd':
      giveUp(core, connection, 'RTU');
      break;
    case 'dreq-sent':
      core.disconnected(now, connection, 'timeout', NO_BYTES);
      break;
    case 'req-rcvd':
    case 'mra-req-sent':
      core.forget(connection);
      core.emit(connection, { type: 'unreachable', id: connection.id, waitingFor: 'application' });
      break;
    case 'timewait':
      core.forget(connection);
      core.emit(connection, { type: 'timewait-exit', id: connection.id });
      break;
    case 'rejected':
      core.forget(connection);
      break;
    case 'established':
      lapUnanswered(core, connection);
      break;
    case 'rep-rcvd':
    case 'mra-rep-sent':
      // These wait for the application, without a deadline.
      core.stopRepeating(connection);
      break;
  }
}

/** The application gives up. The peer gets a message, and what its repetitions need is kept. */
export function destroy(core: CmCore, now: number, id: CmId): void {
  const connection = core.table.byId(id);
  if (connection === undefined || connection.detached) return;
  switch (connection.state) {
    case 'req-sent':
    case 'mra-req-rcvd':
      sendLastRej(core, connection, CmRejReason.Timeout);
      core.forget(connection);
      break;
    case 'rep-sent':
    case 'mra-rep-rcvd':
      sendLastRej(core, connection, CmRejReason.ConsumerDefined);
      core.enterTimewait(now, connection);
      break;
    case 'req-rcvd':
    case 'mra-req-sent':
    case 'rep-rcvd':
    case 'mra-rep-sent':
      reject(core, now, id, CmRejReason.ConsumerDefined, NO_BYTES);
      break;
    case 'established':
      startDisconnect(core, now, connection, NO_BYTES);
      break;
    case 'dreq-sent':
    case 'timewait':
    case 'rejected':
      break;
  }
  connection.detached = true;
}

function giveUp(core: CmCore, connection: Connection, waitingFor: 'REP' | 'RTU'): void {
  sendLastRej(core, connection, CmRejReason.Timeout);
  core.forget(connection);
  core.emit(connection, { type: 'unreachable', id: connection.id, waitingFor });
}
