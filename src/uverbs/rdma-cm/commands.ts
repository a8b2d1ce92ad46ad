/**
 * The commands of rdma_cm. Rules: linux:core/ucma.c, function by function, and linux:core/cma.c for what they call.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { CmRejReason, CmSidrStatus, rdmaServiceId } from '../../../packets/cm/index.ts';
import type { Device } from '../../device/device.ts';
import * as C from '../abi/cm.ts';
import { CM_COMMANDS, CmCommand, type CmCommandName } from '../abi/commands.ts';
import { Errno, errnoOf, Refusal } from '../errno.ts';
import { Fields, response } from '../fields.ts';
import type { CommandResult } from '../host.ts';
import { initQpAttr, query, queryRoute } from './describe.ts';
import { CmEventType } from './events.ts';
import { type ServedCmFile, serviceIdOf } from './files.ts';
import { offeredAckTimeout, setOption } from './options.ts';
import { portSpaceOf } from './port-space.ts';
import type { IdState, ServedId } from './served-id.ts';
import { isAny, isLoopback, readSockaddr, type SocketAddress } from './sockaddr.ts';

interface CmCall {
  readonly file: ServedCmFile;
  readonly request: Fields;
  readonly room: number;
}

type Handler = (call: CmCall) => Fields | undefined;

const MAX_BACKLOG = 1024;
const MAX_RETRY = 7;
const MAX_CONNECT_DATA = 56;
const COMM_EST = 4;
const REJECT_UNSUPPORTED = 35;

const NAMES = new Map<number, CmCommandName>(
  (Object.keys(CmCommand) as CmCommandName[]).map((name) => [CmCommand[name], name] as const),
);

/** Runs a command, from its header on (linux:core/ucma.c#ucma_write). */
export function runCmCommand(file: ServedCmFile, bytes: Uint8Array): CommandResult {
  try {
    if (file.closed || bytes.length < C.CM_CMD_HDR.size) throw new Refusal(Errno.EINVAL);
    const header = new Fields(bytes);
    const number = header.u32(C.CM_CMD_HDR.at.cmd);
    const name = NAMES.get(number);
    if (name === undefined) throw new Refusal(Errno.EINVAL);
    const length = header.u16(C.CM_CMD_HDR.at.in);
    if (length + C.CM_CMD_HDR.size > bytes.length) throw new Refusal(Errno.EINVAL);
    const demand = CM_COMMANDS[name];
    const room = header.u16(C.CM_CMD_HDR.at.out);
    if (room < demand.response) throw new Refusal(Errno.ENOSPC);
    // A short command is read as if zeros followed: the kernel reads what the caller has there.
    const request = new Uint8Array(Math.max(length, FULL_BYTES));
    request.set(bytes.subarray(C.CM_CMD_HDR.size, C.CM_CMD_HDR.size + length));
    const reply = HANDLERS[name]({ file, request: new Fields(request), room });
    return { errno: 0, response: reply === undefined ? NOTHING : reply.bytes.subarray(0, room) };
  } catch (error) {
    return { errno: errnoOf(error), response: NOTHING };
  }
}

/** What people call the command in these bytes, whatever else is wrong with them. */
export function nameOfCmCommand(bytes: Uint8Array): string {
  if (bytes.length < C.CM_CMD_HDR.size) return 'rdma_cm: a command that is too short';
  const number = new Fields(bytes).u32(C.CM_CMD_HDR.at.cmd);
  return `rdma_cm: ${NAMES.get(number) ?? 'an unknown command'}`;
}

function demandState(id: ServedId, ...states: readonly IdState[]): void {
  if (!states.includes(id.state)) throw new Refusal(Errno.EINVAL);
}

function createId({ file, request }: CmCall): Fields {
  const { uid, ps } = C.CREATE_ID.at;
  file.files.demandRoom(file);
  const id = file.files.newId(request.u64(uid), file, portSpaceOf(request.u16(ps)));
  const reply = response(C.CREATE_ID_RESP);
  reply.put32(0, id.number);
  return reply;
}

function destroyId({ file, request }: CmCall): Fields {
  const reply = response(C.DESTROY_ID_RESP);
  reply.put32(0, file.destroy(file.id(request.u32(C.DESTROY_ID.at.id))));
  return reply;
}

/** linux:core/cma.c#rdma_bind_addr. */
function bind(file: ServedCmFile, id: ServedId, to: SocketAddress | undefined): void {
  demandState(id, 'idle');
  if (to === undefined) throw new Refusal(Errno.EINVAL);
  place(file, id, to);
  id.state = 'bound';
}

function place({ files }: ServedCmFile, id: ServedId, { address, port }: SocketAddress): void {
  const ours = files.facts.gids.some((gid) => gid.equals(address));
  if (!ours && !isAny(address)) throw new Refusal(Errno.EADDRNOTAVAIL);
  if (port !== 0) files.demandPort(id.space, port, id.reuse);
  id.source = { address, port: port === 0 ? files.freePort(id.space) : port };
  id.hasPort = true;
}

/** linux:core/cma.c#rdma_resolve_addr. The event comes when the next hop is known, or is not going to be. */
function resolve(call: CmCall, id: ServedId, from: SocketAddress | undefined, to: SocketAddress | undefined): void {
  const { file } = call;
  const { device } = file.files.facts;
  demandState(id, 'idle', 'bound');
  file.demandRoomForEvents();
  if (to === undefined) throw new Refusal(Errno.EINVAL);
  const own = id.source ?? (from === undefined || isAny(from.address) ? undefined : from);
  const address = own === undefined || isAny(own.address) ? device.paths.sourceFor(to.address) : own.address;
  const port = id.source?.port;
  if (port === undefined) place(file, id, { address, port: from?.port ?? 0 });
  else id.source = { address, port };
  id.destination = to;
  id.state = 'addr-query';
  nextHopOf(device, to.address).then(
    () => resolved(file, id, CmEventType.ADDR_RESOLVED, 0),
    (error: unknown) => resolved(file, id, CmEventType.ADDR_ERROR, -errnoOf(error)),
  );
}

/** No wire leads to the machine's own 127.0.0.1: the kernel finds an interface there that no device is on. */
async function nextHopOf(device: Device, address: IpAddress): Promise<void> {
  if (isLoopback(address) && !device.paths.isOurs(address)) throw new Refusal(Errno.ENODEV);
  await device.resolve(address);
}

function resolved(file: ServedCmFile, id: ServedId, type: number, status: number): void {
  if (file.files.ids.get(id.number) !== id) return;
  id.state = status === 0 ? 'addr-resolved' : 'bound';
  id.report(type, status);
}

function resolveRoute({ file, request }: CmCall): undefined {
  const id = file.id(request.u32(C.RESOLVE_ROUTE.at.id));
  demandState(id, 'addr-resolved');
  id.negotiated.trafficClass = id.tos ?? 0;
  id.state = 'route-resolved';
  id.report(CmEventType.ROUTE_RESOLVED, 0);
}

function listen({ file, request }: CmCall): undefined {
  const { facts } = file.files;
  const id = file.id(request.u32(C.LISTEN.at.id));
  if (id.state === 'idle') {
    const [gid] = facts.gids;
    if (gid !== undefined) place(file, id, { address: gid, port: 0 });
    id.state = 'bound';
  }
  demandState(id, 'bound');
  const asked = request.s32(C.LISTEN.at.backlog);
  id.backlog = asked <= 0 || asked > MAX_BACKLOG ? MAX_BACKLOG : asked;
  const { guests } = facts.device.cm;
  if (id.space.datagrams) guests.offer(id, serviceIdOf(id), id.backlog);
  else guests.listen(id, serviceIdOf(id), id.backlog);
  id.state = 'listen';
}

/** The parameters of CONNECT and ACCEPT. */
function connParam(request: Fields, base: number) {
  const at = C.CONN_PARAM.at;
  const u8 = (offset: number): number => request.u8(base + offset);
  return {
    qpn: request.u32(base + at.qp_num) & 0xff_ff_ff,
    qkey: request.u32(base + at.qkey),
    privateData: request.slice(base + at.private_data, u8(at.private_data_len)),
    srq: u8(at.srq) !== 0,
    responderResources: u8(at.responder_resources),
    initiatorDepth: u8(at.initiator_depth),
    // Credits need a queue pair that gives them: its receives lie in a ring that nobody is told of.
    flowControl: false,
    retryCount: Math.min(MAX_RETRY, u8(at.retry_count)),
    rnrRetryCount: Math.min(MAX_RETRY, u8(at.rnr_retry_count)),
    valid: u8(at.valid) !== 0,
  };
}

function connect({ file, request }: CmCall): undefined {
  const { device } = file.files.facts;
  const id = file.id(request.u32(C.CONNECT.at.id));
  const parameters = connParam(request, C.CONNECT.at.conn_param);
  if (!parameters.valid) throw new Refusal(Errno.EINVAL);
  demandState(id, 'route-resolved');
  const { source, destination, negotiated } = id;
  if (source === undefined || destination === undefined) throw new Refusal(Errno.EINVAL);
  const service = {
    serviceId: rdmaServiceId(id.space.base, destination.port),
    ...{ local: source.address, remote: destination.address, localPort: source.port },
  };
  if (id.space.datagrams) {
    id.connection = device.cm.guests.lookUp(id, { ...service, privateData: parameters.privateData });
    id.state = 'connect';
    return;
  }
  if (parameters.privateData.length > MAX_CONNECT_DATA) throw new Refusal(Errno.EINVAL);
  const ackTimeout = offeredAckTimeout(id);
  id.connection = device.cm.guests.connect(id, {
    ...parameters,
    ...service,
    startingPsn: negotiated.rqPsn,
    mtu: negotiated.mtuCode,
    trafficClass: negotiated.trafficClass,
    ackTimeout,
  });
  negotiated.retryCount = parameters.retryCount;
  negotiated.timeout = ackTimeout;
  id.state = 'connect';
}

/** Without parameters: the active side is ready, and sends its RTU (linux:core/cma.c#rdma_accept). */
function accept({ file, request }: CmCall): undefined {
  const { guests } = file.files.facts.device.cm;
  const id = file.id(request.u32(C.ACCEPT.at.id));
  const parameters = connParam(request, C.ACCEPT.at.conn_param);
  demandState(id, 'connect');
  const { connection, negotiated } = id;
  if (connection === undefined) throw new Refusal(Errno.EINVAL);
  if (id.space.datagrams) {
    const { qpn, qkey, privateData } = parameters;
    guests.answer(connection, { qpn, qkey: qkey === 0 ? (id.space.qkey ?? 0) : qkey, privateData });
    id.connection = undefined;
    if (parameters.valid) id.uid = request.u64(C.ACCEPT.at.uid);
    return;
  }
  if (!parameters.valid) {
    guests.ready(connection);
    return;
  }
  const { initiatorDepth, responderResources } = parameters;
  guests.accept(connection, { ...parameters, startingPsn: negotiated.rqPsn });
  negotiated.initiatorDepth = initiatorDepth;
  negotiated.responderResources = responderResources;
  id.uid = request.u64(C.ACCEPT.at.uid);
}

function reject({ file, request }: CmCall): undefined {
  const at = C.REJECT.at;
  const id = file.id(request.u32(at.id));
  const reason = request.u8(at.reason) || CmRejReason.ConsumerDefined;
  if (reason !== CmRejReason.ConsumerDefined && reason !== REJECT_UNSUPPORTED) throw new Refusal(Errno.EINVAL);
  if (id.connection === undefined) throw new Refusal(Errno.EINVAL);
  const data = request.slice(at.private_data, request.u8(at.private_data_len));
  const { guests } = file.files.facts.device.cm;
  if (id.space.datagrams) guests.answer(id.connection, { status: CmSidrStatus.Reject, privateData: data });
  else guests.reject(id.connection, reason, data);
  id.connection = undefined;
}

function disconnect({ file, request }: CmCall): undefined {
  const id = file.id(request.u32(C.DISCONNECT.at.id));
  // Nothing is connected, and the kernel finds nothing wrong with that.
  if (id.space.datagrams) return;
  if (id.connection === undefined) throw new Refusal(Errno.EINVAL);
  file.files.facts.device.cm.guests.disconnect(id.connection);
}

/** One event. A request gets its own id now, and its place in the backlog is free again. */
function getEvent({ file }: CmCall): Fields {
  const event = file.events.shift();
  if (event === undefined) throw new Refusal(Errno.EAGAIN);
  if (event.child !== undefined) {
    event.id.backlog += 1;
    event.response.put32(C.EVENT_RESP.at.id, event.child.number);
  }
  (event.group ?? event.id).eventsRead += 1;
  return event.response;
}

function notify({ file, request }: CmCall): undefined {
  file.id(request.u32(C.NOTIFY.at.id));
  if (request.u32(C.NOTIFY.at.event) !== COMM_EST) throw new Refusal(Errno.EINVAL);
}

/** The id and its events go to this file (linux:core/ucma.c#ucma_migrate_id). */
function migrateId({ file, request }: CmCall): Fields {
  const from = file.files.file(request.u32(C.MIGRATE_ID.at.fd));
  const id = from.id(request.u32(C.MIGRATE_ID.at.id));
  const reply = response(C.MIGRATE_RESP);
  reply.put32(0, id.eventsRead);
  if (from === file) return reply;
  id.sink = file;
  for (const event of from.takeOut((other) => other.id === id)) {
    if (event.child !== undefined) event.child.sink = file;
    file.push(event);
  }
  return reply;
}

/** JOIN_IP_MCAST has room for an address of IP, and no flags. */
function joinIpMcast({ file, request }: CmCall): Fields {
  const { id, uid, addr } = C.JOIN_IP_MCAST.at;
  return joined(file, request.u32(id), request.u64(uid), readSockaddr(request.view, addr), 0);
}

function joinMcast({ file, request }: CmCall): Fields {
  const { id, uid, addr, join_flags } = C.JOIN_MCAST.at;
  return joined(file, request.u32(id), request.u64(uid), readSockaddr(request.view, addr), request.u16(join_flags));
}

function joined(file: ServedCmFile, id: number, uid: bigint, to: SocketAddress | undefined, flags: number): Fields {
  file.files.demandRoom(file);
  const reply = response(C.CREATE_ID_RESP);
  reply.put32(0, file.files.join(file.id(id), uid, to, flags).number);
  return reply;
}

function leaveMcast({ file, request }: CmCall): Fields {
  const reply = response(C.DESTROY_ID_RESP);
  reply.put32(0, file.leave(file.group(request.u32(C.DESTROY_ID.at.id))));
  return reply;
}

const HANDLERS: Readonly<Record<CmCommandName, Handler>> = {
  CREATE_ID: createId,
  DESTROY_ID: destroyId,
  BIND_IP: ({ file, request }) => {
    bind(file, file.id(request.u32(C.BIND_IP.at.id)), readSockaddr(request.view, C.BIND_IP.at.addr));
    return undefined;
  },
  BIND: ({ file, request }) => {
    bind(file, file.id(request.u32(C.BIND.at.id)), readSockaddr(request.view, C.BIND.at.addr));
    return undefined;
  },
  RESOLVE_IP: (call) => {
    const { id, src_addr, dst_addr } = C.RESOLVE_IP.at;
    const { view } = call.request;
    resolve(call, call.file.id(call.request.u32(id)), readSockaddr(view, src_addr), readSockaddr(view, dst_addr));
    return undefined;
  },
  RESOLVE_ADDR: (call) => {
    const { id, src_addr, dst_addr } = C.RESOLVE_ADDR.at;
    const { view } = call.request;
    resolve(call, call.file.id(call.request.u32(id)), readSockaddr(view, src_addr), readSockaddr(view, dst_addr));
    return undefined;
  },
  RESOLVE_ROUTE: resolveRoute,
  QUERY_ROUTE: ({ file, request }) => queryRoute(file.id(request.u32(C.CM_QUERY.at.id)), file.files.facts),
  QUERY: ({ file, request }) =>
    query(file.id(request.u32(C.CM_QUERY.at.id)), request.u32(C.CM_QUERY.at.option), file.files.facts),
  CONNECT: connect,
  LISTEN: listen,
  ACCEPT: accept,
  REJECT: reject,
  DISCONNECT: disconnect,
  INIT_QP_ATTR: ({ file, request }) => {
    const { id, qp_state } = C.INIT_QP_ATTR.at;
    return initQpAttr(file.id(request.u32(id)), request.u32(qp_state), file.files.facts);
  },
  GET_EVENT: getEvent,
  SET_OPTION: ({ file, request }) => {
    setOption(file, request);
    return undefined;
  },
  NOTIFY: notify,
  JOIN_IP_MCAST: joinIpMcast,
  LEAVE_MCAST: leaveMcast,
  JOIN_MCAST: joinMcast,
  MIGRATE_ID: migrateId,
};

/** The longest command. */
const FULL_BYTES = 512;
const NOTHING = new Uint8Array(0);
