/**
 * CREATE_AH and DESTROY_AH. A handle is made once its next hop is known, so the answer may take its time. Rules:
 * linux:core/uverbs_cmd.c#ib_uverbs_create_ah, rxe:rxe_verbs.c#rxe_create_ah, rxe:rxe_av.c#rxe_av_chk_attr.
 */
import { IpAddress } from '../../../packets/address.ts';
import type { Ah } from '../../device/verbs/index.ts';
import { AH_ATTR, CREATE_AH, CREATE_AH_RESP, DESTROY_AH, GLOBAL_ROUTE } from '../abi/queues.ts';
import { RXE_CREATE_AH_RESP } from '../abi/rxe.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import { type Context, routeOf } from '../context.ts';
import { Errno, Refusal } from '../errno.ts';
import { response } from '../fields.ts';
import type { PdObject } from '../handles.ts';
import { type Route, vectorOf } from './modify.ts';

export async function createAh(context: Context, { request, driverRoom }: ParsedCommand): Promise<Reply> {
  const attr = request.within(CREATE_AH.at.attr, AH_ATTR.size);
  const { gids } = context.facts;
  if (attr.u8(AH_ATTR.at.port_num) !== 1) throw new Refusal(Errno.EINVAL);
  const domain = context.handles.get('pd', request.u32(CREATE_AH.at.pd_handle));
  const { dgid, flow_label, sgid_index, hop_limit, traffic_class } = GLOBAL_ROUTE.at;
  const source = gids[attr.u8(sgid_index)];
  if (attr.u8(AH_ATTR.at.is_global) === 0 || source === undefined) throw new Refusal(Errno.EINVAL);
  const ah = await createIn(domain, {
    destination: IpAddress.fromGid(attr.view, dgid),
    source,
    flowLabel: attr.u32(flow_label),
    hopLimit: attr.u8(hop_limit),
    trafficClass: attr.u8(traffic_class),
  });
  if (context.closed) {
    ah.destroy();
    throw new Refusal(Errno.EIO);
  }
  const route = routeOf(attr);
  const object = context.addHandle((number) => ({ kind: 'ah', ah, number, route }));
  const core = response(CREATE_AH_RESP);
  core.put32(CREATE_AH_RESP.at.ah_handle, context.handles.add(object));
  // An old provider has no room for the number, and copies the address vector into its work requests.
  if (driverRoom < RXE_CREATE_AH_RESP.size) return { core };
  const driver = response(RXE_CREATE_AH_RESP);
  driver.put32(RXE_CREATE_AH_RESP.at.ah_num, object.number);
  return { core, driver };
}

/** The domain stays until the handle is there, or is not going to be. */
async function createIn(domain: PdObject, route: Route): Promise<Ah> {
  domain.making += 1;
  try {
    return await domain.pd.createAh(vectorOf(route));
  } finally {
    domain.making -= 1;
  }
}

export function destroyAh(context: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DESTROY_AH.at.ah_handle);
  const object = context.handles.doomed('ah', handle);
  object.ah.destroy();
  context.removeHandle(object);
  context.handles.remove(handle);
  return {};
}
