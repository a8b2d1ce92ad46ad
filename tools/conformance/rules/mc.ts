/**
 * Area MC: Multicast. Who gets a packet that is sent to a group.
 *
 * Data only, after ref:conformance#MC.
 */
import type { ConformanceRule } from './types.ts';

/** Rules of area MC: Multicast. */
export const MC_RULES: readonly ConformanceRule[] = [
  {
    id: 'MC-01',
    area: 'MC',
    source: 'rxe: rcv_mcast_pkt',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'A packet to QPN 0xFFFFFF and a multicast address reaches every attached UD QP.',
    shownBy: 'Attach 3 QPs and send one packet: 3 deliveries.',
  },
  {
    id: 'MC-02',
    area: 'MC',
    source: 'rxe',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'A multicast packet is not delivered to QPs that are not attached.',
    shownBy: 'Leave a fourth QP unattached: it gets nothing.',
  },
  {
    id: 'MC-03',
    area: 'MC',
    source: 'rxe: check_keys per QP',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'Q_Key and P_Key of a multicast packet are checked for each QP.',
    shownBy: 'Attach one QP with another key: it alone is skipped.',
  },
  {
    id: 'MC-04',
    area: 'MC',
    source: 'pyverbs leave_multicast',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'Nothing arrives after a QP was detached.',
    shownBy: 'Detach, then send: nothing.',
  },
  {
    id: 'MC-05',
    area: 'MC',
    source: 'A17.5.6',
    certainty: 'R',
    level: 'must',
    role: 'api',
    needs: 'agent',
    priority: 2,
    says: 'The MLID argument of attach is ignored.',
    shownBy: 'Attach with any MLID: it succeeds, and messages arrive.',
  },
  {
    id: 'MC-06',
    area: 'MC',
    source: 'rxe',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'wire',
    priority: 2,
    says: 'The multicast QPN with a unicast destination address is dropped.',
    shownBy: 'Send to 0xFFFFFF at the unicast address: nothing is delivered.',
  },
];
