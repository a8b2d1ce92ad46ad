/**
 * Area XRC: extended reliable connections, whose requests name a shared receive queue of the responder.
 *
 * Data only, after ref:conformance#XRC.
 */
import type { ConformanceRule } from './types.ts';

/** Rules of area XRC: XRC targets. */
export const XRC_RULES: readonly ConformanceRule[] = [
  {
    id: 'XRC-01',
    area: 'XRC',
    source: 'ibv_create_srq_ex(3), ibv_create_qp_ex(3)',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'A SEND over XRC takes a receive of the shared receive queue that its XRCETH names, and completes in the CQ of that queue.',
    shownBy:
      'Two queues of one domain with a CQ each; SENDs to one and the other: receives and completions, compared whole.',
  },
  {
    id: 'XRC-02',
    area: 'XRC',
    source: 'a patch to rxe that was posted and not merged: check_resource',
    certainty: 'C',
    level: 'should',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'A request that names a shared receive queue outside the domain of the target draws NAK 0x62 and takes no receive.',
    shownBy: 'SENDs to an unknown number and to a queue of another domain: NAK 0x62, and no receive completes.',
  },
  {
    id: 'XRC-03',
    area: 'XRC',
    source: 'ibv_create_srq_ex(3)',
    certainty: 'C',
    level: 'should',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'R_Keys are checked in the protection domain of the shared receive queue that the request names.',
    shownBy: 'WRITE with the key of another protection domain: NAK 0x62; with one of its own: it is executed.',
  },
  {
    id: 'XRC-04',
    area: 'XRC',
    source: 'rxe: check_type_state; pib',
    certainty: 'C',
    level: 'should',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'An XRC target drops requests of the class RC, and an RC QP drops those of the class XRC.',
    shownBy: 'A SEND of the other class to each: silence, and a sentinel that is the next new request.',
  },
  {
    id: 'XRC-05',
    area: 'XRC',
    source: 'ibv_post_srq_recv(3)',
    certainty: 'C',
    level: 'should',
    role: 'responder',
    needs: 'agent',
    priority: 3,
    says: 'An empty shared receive queue draws an RNR NAK; receives of another queue of the domain are not taken in its place.',
    shownBy: 'SEND to the empty one of two queues: RNR NAK; post a receive there: the same SEND is taken.',
  },
];
