/**
 * Groups that ids have joined. A join tells the program the group's address and Q_Key; librdmacm then attaches its
 * queue pair, and that is what the network learns. Rules: linux:core/ucma.c#ucma_process_join, #ucma_leave_multicast,
 * linux:core/cma.c#cma_iboe_join_multicast.
 */
import { Errno, Refusal } from '../errno.ts';
import { CmEventType, datagramEvent } from './events.ts';
import { routeAttributes } from './route.ts';
import type { Group, ServedId } from './served-id.ts';
import { isAny, type SocketAddress } from './sockaddr.ts';

/** JOIN flags: member, and sender only. */
const KNOWN_FLAGS: readonly number[] = [0, 1];
/** In the event, in place of a queue pair's number (linux:core/cma.c#cma_make_mc_event). */
const MULTICAST_QPN = 0xff_ff_ff;

/** Joins; `number` is the group's. Refuses with EINVAL. */
export function join(id: ServedId, number: number, uid: bigint, to: SocketAddress | undefined, flags: number): Group {
  const source = id.source?.address;
  if (to === undefined || isAny(to.address) || !KNOWN_FLAGS.includes(flags)) throw new Refusal(Errno.EINVAL);
  const ready = id.space.datagrams && (id.state === 'bound' || id.state === 'addr-resolved');
  if (!ready || source === undefined || isAny(source)) throw new Refusal(Errno.EINVAL);
  const group = { id, number, uid, eventsRead: 0 };
  const route = routeAttributes(
    { source, destination: to.address, trafficClass: id.negotiated.trafficClass },
    id.facts.gids,
  );
  const parameters = { qpNum: MULTICAST_QPN, qkey: id.space.qkey ?? 0, route };
  id.sink.push({
    ...{ id, group, child: undefined },
    response: datagramEvent(group, CmEventType.MULTICAST_JOIN, 0, parameters),
  });
  return group;
}
