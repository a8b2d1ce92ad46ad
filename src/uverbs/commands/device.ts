/** Commands about the context and the device: GET_CONTEXT, QUERY_DEVICE, QUERY_PORT, CREATE_COMP_CHANNEL. */
import { MAX_MESSAGE_BYTES } from '../../../transport/send-queue.ts';
import {
  CREATE_COMP_CHANNEL_RESP,
  EX_QUERY_DEVICE,
  EX_QUERY_DEVICE_RESP,
  GET_CONTEXT_RESP,
  QUERY_DEVICE_RESP,
  QUERY_PORT,
  QUERY_PORT_RESP,
} from '../abi/verbs.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import type { Context } from '../context.ts';
import type { DeviceFacts } from '../device-facts.ts';
import { Errno, Refusal } from '../errno.ts';
import { type Fields, response } from '../fields.ts';

/**
 * rxe:rxe_param.h#RXE_DEVICE_CAP_FLAGS as of 6.12, without what is not here: persistent flushes.
 */
const CAPABILITIES =
  (1n << 1n) | // bad P_Key counter
  (1n << 2n) | // bad Q_Key counter
  (1n << 4n) | // automatic path migration
  (1n << 5n) | // change of physical port
  (1n << 6n) | // port of address vectors enforced
  (1n << 10n) | // port active event
  (1n << 11n) | // system image GUID
  (1n << 12n) | // RNR NAK
  (1n << 13n) | // SRQ resize
  (1n << 17n) | // windows
  (1n << 21n) | // memory management extensions
  (1n << 24n) | // windows of type 2B
  (1n << 38n) | // FLUSH, global
  (1n << 40n); // ATOMIC WRITE
const ATOMIC_HCA = 1;
const MTU_4096 = 5;
const PORT_ACTIVE = 4;
const LINK_UP = 5;
const LINK_LAYER_ETHERNET = 2;
const GRH_REQUIRED = 1;
/** Code of 2.5 Gbit/s and of one lane: what rxe reports where the network interface does not say. */
const SPEED_SDR = 1;
const WIDTH_1X = 1;
/** Its connection manager (rxe:rxe_param.h#RXE_PORT_PORT_CAP_FLAGS); seen on 6.12, as in sysfs. */
const PORT_CAPABILITIES = 1 << 16;

export function getContext(context: Context): Reply {
  if (context.asyncChannel >= 0) throw new Refusal(Errno.EINVAL);
  context.asyncChannel = context.host.openChannel();
  context.channels.add(context.asyncChannel);
  const reply = response(GET_CONTEXT_RESP);
  reply.put32(GET_CONTEXT_RESP.at.async_fd, context.asyncChannel);
  reply.put32(GET_CONTEXT_RESP.at.num_comp_vectors, 1);
  return { core: reply };
}

export function createCompChannel(context: Context): Reply {
  const channel = context.host.openChannel();
  context.channels.add(channel);
  const reply = response(CREATE_COMP_CHANNEL_RESP);
  reply.put32(CREATE_COMP_CHANNEL_RESP.at.fd, channel);
  return { core: reply };
}

export function queryDevice({ facts }: Context): Reply {
  const reply = response(QUERY_DEVICE_RESP);
  describeDevice(reply, facts);
  return { core: reply };
}

export function queryDeviceExtended({ facts }: Context, { request, room }: ParsedCommand): Reply {
  const { comp_mask, reserved } = EX_QUERY_DEVICE.at;
  if (request.u32(comp_mask) !== 0 || request.u32(reserved) !== 0) throw new Refusal(Errno.EINVAL);
  const reply = response(EX_QUERY_DEVICE_RESP);
  describeDevice(reply, facts);
  reply.put32(EX_QUERY_DEVICE_RESP.at.response_length, Math.min(room, EX_QUERY_DEVICE_RESP.size));
  reply.put64(EX_QUERY_DEVICE_RESP.at.device_cap_flags_ex, CAPABILITIES);
  return { core: reply };
}

function describeDevice(reply: Fields, facts: DeviceFacts): void {
  const { limits } = facts.device;
  const at = QUERY_DEVICE_RESP.at;
  reply.view.setBigUint64(at.node_guid, facts.guid);
  reply.view.setBigUint64(at.sys_image_guid, facts.guid);
  reply.put64(at.max_mr_size, 0xff_ff_ff_ff_ff_ff_ff_ffn);
  reply.put64(at.page_size_cap, 0xff_ff_f0_00n);
  const numbers: Partial<Record<keyof typeof at, number>> = {
    vendor_id: 0xff_ff_ff,
    max_qp: limits.maxQp,
    max_qp_wr: facts.maxQpWr,
    device_cap_flags: Number(CAPABILITIES & 0xff_ff_ff_ffn),
    max_sge: facts.maxSge,
    max_sge_rd: facts.maxSge,
    max_cq: limits.maxQp,
    max_cqe: facts.maxCqe,
    max_mr: facts.maxMr,
    max_pd: 0x7f_fc,
    max_qp_rd_atom: limits.maxQpRdAtom,
    max_res_rd_atom: 0x3_f0_00,
    max_qp_init_rd_atom: limits.maxQpRdAtom,
    atomic_cap: ATOMIC_HCA,
    max_mw: facts.maxMr,
    max_mcast_grp: limits.maxMcastGrp,
    max_mcast_qp_attach: limits.maxMcastQpAttach,
    max_total_mcast_qp_attach: limits.maxMcastGrp * limits.maxMcastQpAttach,
    max_ah: 0x7f_fc,
    max_srq: limits.maxSrq,
    max_srq_wr: facts.maxSrqWr,
    max_srq_sge: facts.maxSge,
  };
  for (const [name, value] of Object.entries(numbers)) reply.put32(at[name as keyof typeof at], value);
  reply.put16(at.max_pkeys, 1);
  reply.put8(at.local_ca_ack_delay, 15);
  reply.put8(at.phys_port_cnt, 1);
}

export function queryPort({ facts }: Context, { request }: ParsedCommand): Reply {
  if (request.u8(QUERY_PORT.at.port_num) !== 1) throw new Refusal(Errno.EINVAL);
  const at = QUERY_PORT_RESP.at;
  const reply = response(QUERY_PORT_RESP);
  reply.put32(at.port_cap_flags, PORT_CAPABILITIES);
  // As rxe of 6.12 says.
  reply.put32(at.max_msg_sz, MAX_MESSAGE_BYTES);
  reply.put32(at.gid_tbl_len, facts.gidTableLength);
  reply.put16(at.pkey_tbl_len, 1);
  reply.put8(at.state, PORT_ACTIVE);
  reply.put8(at.max_mtu, MTU_4096);
  reply.put8(at.active_mtu, facts.mtuCode);
  reply.put8(at.max_vl_num, 1);
  reply.put8(at.active_width, WIDTH_1X);
  reply.put8(at.active_speed, SPEED_SDR);
  reply.put8(at.phys_state, LINK_UP);
  reply.put8(at.link_layer, LINK_LAYER_ETHERNET);
  reply.put8(at.flags, GRH_REQUIRED);
  return { core: reply };
}
