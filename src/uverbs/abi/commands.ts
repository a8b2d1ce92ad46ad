/**
 * The commands that uverbs and rdma_cm take by write(): their numbers, and what the kernel demands of each before it
 * runs it (linux:core/uverbs_cmd.c#uverbs_def_write_intf, linux:core/ucma.c#ucma_cmd_table). Commands that rdma_rxe
 * refuses whatever they contain are not here: unknown to us is refused with the same errno, EOPNOTSUPP.
 */
import * as C from './cm.ts';
import * as Q from './queues.ts';
import type { Struct } from './struct.ts';
import * as V from './verbs.ts';

/** Numbers of enum ib_uverbs_write_cmds. */
export const Command = {
  GET_CONTEXT: 0,
  QUERY_DEVICE: 1,
  QUERY_PORT: 2,
  ALLOC_PD: 3,
  DEALLOC_PD: 4,
  CREATE_AH: 5,
  DESTROY_AH: 8,
  REG_MR: 9,
  REREG_MR: 11,
  DEREG_MR: 13,
  ALLOC_MW: 14,
  DEALLOC_MW: 16,
  CREATE_COMP_CHANNEL: 17,
  CREATE_CQ: 18,
  RESIZE_CQ: 19,
  DESTROY_CQ: 20,
  REQ_NOTIFY_CQ: 23,
  CREATE_QP: 24,
  QUERY_QP: 25,
  MODIFY_QP: 26,
  DESTROY_QP: 27,
  POST_SEND: 28,
  ATTACH_MCAST: 30,
  DETACH_MCAST: 31,
  CREATE_SRQ: 32,
  MODIFY_SRQ: 33,
  QUERY_SRQ: 34,
  DESTROY_SRQ: 35,
} as const;
export type CommandName = keyof typeof Command;

/** Those that exist in the extended form, too: enum IB_USER_VERBS_EX_CMD_*. */
export const ExtendedCommand = { QUERY_DEVICE: 1, CREATE_CQ: 18, CREATE_QP: 24, MODIFY_QP: 26 } as const;
export type ExtendedName = keyof typeof ExtendedCommand;

/** The bit of `command` that says which form it has, and the bits that are the number. */
export const FLAG_EXTENDED = 0x80_00_00_00;
export const COMMAND_MASK = 0xff;

/** What a command must have at least, in bytes: behind the header, and room in the response buffer. */
export interface Demand {
  readonly request: number;
  readonly response: number;
}

const demand = (request: Struct, response?: Struct): Demand => ({
  request: request.size,
  response: response?.size ?? 0,
});

export const COMMANDS: Readonly<Record<CommandName, Demand>> = {
  GET_CONTEXT: demand(V.GET_CONTEXT, V.GET_CONTEXT_RESP),
  QUERY_DEVICE: demand(V.QUERY_DEVICE, V.QUERY_DEVICE_RESP),
  QUERY_PORT: demand(V.QUERY_PORT, V.QUERY_PORT_RESP),
  ALLOC_PD: demand(V.ALLOC_PD, V.ALLOC_PD_RESP),
  DEALLOC_PD: demand(V.DEALLOC_PD),
  CREATE_AH: demand(Q.CREATE_AH, Q.CREATE_AH_RESP),
  DESTROY_AH: demand(Q.DESTROY_AH),
  REG_MR: demand(V.REG_MR, V.REG_MR_RESP),
  REREG_MR: demand(V.REREG_MR, V.REREG_MR_RESP),
  DEREG_MR: demand(V.DEREG_MR),
  ALLOC_MW: demand(V.ALLOC_MW, V.ALLOC_MW_RESP),
  DEALLOC_MW: demand(V.DEALLOC_MW),
  CREATE_COMP_CHANNEL: demand(V.CREATE_COMP_CHANNEL, V.CREATE_COMP_CHANNEL_RESP),
  CREATE_CQ: demand(V.CREATE_CQ, V.CREATE_CQ_RESP),
  RESIZE_CQ: demand(V.RESIZE_CQ, V.RESIZE_CQ_RESP),
  DESTROY_CQ: demand(V.DESTROY_CQ, V.DESTROY_CQ_RESP),
  REQ_NOTIFY_CQ: demand(V.REQ_NOTIFY_CQ),
  CREATE_QP: demand(Q.CREATE_QP, Q.CREATE_QP_RESP),
  QUERY_QP: demand(Q.QUERY_QP, Q.QUERY_QP_RESP),
  MODIFY_QP: demand(Q.MODIFY_QP),
  DESTROY_QP: demand(Q.DESTROY_QP, Q.DESTROY_QP_RESP),
  POST_SEND: demand(Q.POST_SEND, Q.POST_SEND_RESP),
  ATTACH_MCAST: demand(Q.ATTACH_MCAST),
  DETACH_MCAST: demand(Q.DETACH_MCAST),
  CREATE_SRQ: demand(Q.CREATE_SRQ, Q.CREATE_SRQ_RESP),
  MODIFY_SRQ: demand(Q.MODIFY_SRQ),
  QUERY_SRQ: demand(Q.QUERY_SRQ, Q.QUERY_SRQ_RESP),
  DESTROY_SRQ: demand(Q.DESTROY_SRQ, Q.DESTROY_SRQ_RESP),
};

/** Up to the end of the last member that has always been there. */
export const EXTENDED_COMMANDS: Readonly<Record<ExtendedName, Demand>> = {
  QUERY_DEVICE: { request: V.EX_QUERY_DEVICE.size, response: V.EX_QUERY_DEVICE_RESP.at.odp_caps },
  CREATE_CQ: demand(V.EX_CREATE_CQ, V.EX_CREATE_CQ_RESP),
  CREATE_QP: { request: Q.EX_CREATE_QP.at.create_flags, response: Q.EX_CREATE_QP_RESP.size },
  MODIFY_QP: { request: Q.EX_MODIFY_QP.at.rate_limit, response: Q.EX_MODIFY_QP_RESP.size },
};

/** Numbers of the RDMA_USER_CM_CMD_* enum. */
export const CmCommand = {
  CREATE_ID: 0,
  DESTROY_ID: 1,
  BIND_IP: 2,
  RESOLVE_IP: 3,
  RESOLVE_ROUTE: 4,
  QUERY_ROUTE: 5,
  CONNECT: 6,
  LISTEN: 7,
  ACCEPT: 8,
  REJECT: 9,
  DISCONNECT: 10,
  INIT_QP_ATTR: 11,
  GET_EVENT: 12,
  SET_OPTION: 14,
  NOTIFY: 15,
  JOIN_IP_MCAST: 16,
  LEAVE_MCAST: 17,
  MIGRATE_ID: 18,
  QUERY: 19,
  BIND: 20,
  RESOLVE_ADDR: 21,
  JOIN_MCAST: 22,
} as const;
export type CmCommandName = keyof typeof CmCommand;

/** CONNECT, ACCEPT and events had no `ece` before Linux 5.10, and callers may still leave it out. */
export const CM_COMMANDS: Readonly<Record<CmCommandName, Demand>> = {
  CREATE_ID: demand(C.CREATE_ID, C.CREATE_ID_RESP),
  DESTROY_ID: demand(C.DESTROY_ID, C.DESTROY_ID_RESP),
  BIND_IP: demand(C.BIND_IP),
  RESOLVE_IP: demand(C.RESOLVE_IP),
  RESOLVE_ROUTE: demand(C.RESOLVE_ROUTE),
  QUERY_ROUTE: { request: C.CM_QUERY.size, response: C.QUERY_ROUTE_RESP.at.ibdev_index },
  CONNECT: { request: C.CONNECT.at.ece, response: 0 },
  LISTEN: demand(C.LISTEN),
  ACCEPT: { request: C.ACCEPT.at.ece, response: 0 },
  REJECT: demand(C.REJECT),
  DISCONNECT: demand(C.DISCONNECT),
  INIT_QP_ATTR: demand(C.INIT_QP_ATTR, Q.QP_ATTR),
  GET_EVENT: { request: C.GET_EVENT.size, response: C.EVENT_RESP.at.reserved },
  SET_OPTION: demand(C.SET_OPTION),
  NOTIFY: demand(C.NOTIFY),
  JOIN_IP_MCAST: demand(C.JOIN_IP_MCAST, C.CREATE_ID_RESP),
  LEAVE_MCAST: demand(C.DESTROY_ID, C.DESTROY_ID_RESP),
  MIGRATE_ID: demand(C.MIGRATE_ID, C.MIGRATE_RESP),
  QUERY: { request: C.CM_QUERY.size, response: 0 },
  BIND: demand(C.BIND),
  RESOLVE_ADDR: demand(C.RESOLVE_ADDR),
  JOIN_MCAST: demand(C.JOIN_MCAST, C.CREATE_ID_RESP),
};
