/**
 * The open files of rdma_cm of one server, their ids and the ports these are bound to. Commands are in commands.ts.
 * An id of another file is refused as linux:core/ucma.c#_ucma_find_context does: EINVAL, and ENOENT for none at all.
 */

import { rdmaServiceId } from '../../../packets/cm/index.ts';
import type { CmEvent } from '../../../transport/cm/index.ts';
import type { DeviceFacts } from '../device-facts.ts';
import { Errno, Refusal } from '../errno.ts';
import type { CommandResult, RdmaCmFile, RdmaCmFileHost } from '../host.ts';
import { CmEventType } from './events.ts';
import { join } from './multicast.ts';
import type { PortSpace } from './port-space.ts';
import { type EventSink, type Group, ServedId, type WaitingEvent } from './served-id.ts';
import type { SocketAddress } from './sockaddr.ts';

const EPHEMERAL_FIRST = 0xc0_00;
const EPHEMERAL_COUNT = 0x40_00;
/** Of all files of a server. */
const MOST_IDS = 65_536;

/** What runs commands on a file. */
export type CmCommands = (file: ServedCmFile, bytes: Uint8Array) => CommandResult | Promise<CommandResult>;

export class CmFiles {
  readonly facts: DeviceFacts;
  readonly ids = new Map<number, ServedId>();
  readonly groups = new Map<number, Group>();
  readonly #files = new Map<number, ServedCmFile>();
  readonly #run: CmCommands;
  #nextId = 1;
  #nextGroup = 1;

  constructor(facts: DeviceFacts, run: CmCommands) {
    this.facts = facts;
    this.#run = run;
  }

  open(host: RdmaCmFileHost): RdmaCmFile {
    const file = new ServedCmFile(this, host, this.#run);
    this.#files.set(host.number, file);
    return file;
  }

  /** The file that a command of another names. Refuses with EINVAL. */
  file(number: number): ServedCmFile {
    const file = this.#files.get(number);
    if (file === undefined) throw new Refusal(Errno.EINVAL);
    return file;
  }

  forget(file: ServedCmFile): void {
    this.#files.delete(file.host.number);
  }

  /** Refuses with ENOMEM a server whose clients have made too many ids or groups, or left as many events unread. */
  demandRoom(file: ServedCmFile): void {
    if (this.ids.size >= MOST_IDS || this.groups.size >= MOST_IDS) throw new Refusal(Errno.ENOMEM);
    file.demandRoomForEvents();
  }

  newId(uid: bigint, sink: EventSink, space: PortSpace): ServedId {
    const id = new ServedId(this.#nextId++, uid, sink, space, this.facts);
    this.ids.set(id.number, id);
    return id;
  }

  /** For JOIN_MCAST. */
  join(id: ServedId, uid: bigint, to: SocketAddress | undefined, flags: number): Group {
    const group = join(id, this.#nextGroup, uid, to, flags);
    this.#nextGroup += 1;
    this.groups.set(group.number, group);
    return group;
  }

  /** A port that nobody has. Refuses with EADDRNOTAVAIL. */
  freePort(space: PortSpace): number {
    const first = this.facts.device.random.u32() % EPHEMERAL_COUNT;
    const taken = new Set<number | undefined>();
    for (const { hasPort, space: other, source } of this.ids.values())
      if (hasPort && other === space) taken.add(source?.port);
    for (let i = 0; i < EPHEMERAL_COUNT; i++) {
      const port = EPHEMERAL_FIRST + ((first + i) % EPHEMERAL_COUNT);
      if (!taken.has(port)) return port;
    }
    throw new Refusal(Errno.EADDRNOTAVAIL);
  }

  /** Refuses with EADDRINUSE a port that another id has (linux:core/cma.c#cma_check_port). */
  demandPort(space: PortSpace, port: number, reuse: boolean): void {
    if (this.#isTaken(space, port, reuse)) throw new Refusal(Errno.EADDRINUSE);
  }

  #isTaken(space: PortSpace, port: number, reuse: boolean): boolean {
    for (const { source, hasPort, reuse: shares, state, space: other } of this.ids.values())
      if (hasPort && other === space && source?.port === port && !(reuse && shares && state !== 'listen')) return true;
    return false;
  }
}

export class ServedCmFile implements RdmaCmFile, EventSink {
  readonly files: CmFiles;
  readonly host: RdmaCmFileHost;
  closed = false;
  /** Events not read, oldest first. */
  events: WaitingEvent[] = [];
  readonly #run: CmCommands;

  constructor(files: CmFiles, host: RdmaCmFileHost, run: CmCommands) {
    this.files = files;
    this.host = host;
    this.#run = run;
  }

  command(bytes: Uint8Array): CommandResult | Promise<CommandResult> {
    return this.#run(this, bytes);
  }

  /** The id of this number. Refuses with ENOENT or EINVAL. */
  id(number: number): ServedId {
    const id = this.files.ids.get(number);
    if (id === undefined) throw new Refusal(Errno.ENOENT);
    if (id.sink !== this) throw new Refusal(Errno.EINVAL);
    return id;
  }

  /** Refuses with ENOMEM a client that may go on causing events, and reads none. */
  demandRoomForEvents(): void {
    if (this.events.length >= MOST_IDS) throw new Refusal(Errno.ENOMEM);
  }

  push(event: WaitingEvent): void {
    this.events.push(event);
    this.host.eventReady();
  }

  requested(listener: ServedId, event: Extract<CmEvent, { type: 'connect-request' }>): void {
    const { request, ipHeader } = event;
    const child = this.#childOf(listener, event, ipHeader?.sourcePort);
    if (child === undefined) return;
    // As the peer's wishes concern this side (rdma_get_cm_event(3), linux:core/cm.c#cm_req_handler).
    const depths = { responderResources: request.initiatorDepth, initiatorDepth: request.responderResources };
    Object.assign(child.negotiated, {
      ...depths,
      ...{ remoteQpn: request.localQpn, sqPsn: request.startingPsn, mtuCode: request.pathMtu },
      ...{ timeout: request.primaryPath.localAckTimeout, retryCount: request.retryCount },
      ...{ rnrRetryCount: request.rnrRetryCount, trafficClass: request.primaryPath.trafficClass },
    });
    this.files.facts.device.cm.guests.assign(event.id, child);
    listener.report(
      CmEventType.CONNECT_REQUEST,
      0,
      {
        ...{ qpNum: request.localQpn, privateData: event.privateData, srq: request.srq, ...depths },
        ...{ flowControl: request.endToEndFlowControl, retryCount: request.retryCount },
        rnrRetryCount: request.rnrRetryCount,
      },
      child,
    );
  }

  lookedUp(listener: ServedId, event: Extract<CmEvent, { type: 'resolve-request' }>): void {
    const child = this.#childOf(listener, event, event.ipHeader?.sourcePort);
    if (child === undefined) return;
    this.files.facts.device.cm.guests.assign(event.id, child);
    listener.report(CmEventType.CONNECT_REQUEST, 0, { privateData: event.privateData }, child);
  }

  /** The group of this number. Refuses with ENOENT or EINVAL. */
  group(number: number): Group {
    const group = this.files.groups.get(number);
    if (group === undefined) throw new Refusal(Errno.ENOENT);
    if (group.id.sink !== this) throw new Refusal(Errno.EINVAL);
    return group;
  }

  /** Ends a membership. Returns how many of its events were read. */
  leave(group: Group): number {
    this.files.groups.delete(group.number);
    this.#drop((event) => event.group === group);
    return group.eventsRead;
  }

  /** An id for a request that has come; undefined when too many wait. */
  #childOf(listener: ServedId, { id, source, destination }: Arrival, port: number | undefined): ServedId | undefined {
    if (listener.backlog <= 0) {
      this.files.facts.device.cm.guests.destroy(id);
      return undefined;
    }
    listener.backlog -= 1;
    const child = this.files.newId(0n, this, listener.space);
    child.state = 'connect';
    child.connection = id;
    child.source = { address: destination, port: listener.source?.port ?? 0 };
    child.destination = { address: source, port: port ?? 0 };
    return child;
  }

  /** Takes the events out that `match` names. */
  takeOut(match: (event: WaitingEvent) => boolean): WaitingEvent[] {
    const taken = this.events.filter(match);
    this.events = this.events.filter((event) => !match(event));
    return taken;
  }

  #drop(match: (event: WaitingEvent) => boolean): void {
    for (const { child } of this.takeOut(match)) if (child !== undefined) this.destroy(child);
  }

  /** Ends an id: its events, those of requests that nobody has read, its connection. Returns how many were read. */
  destroy(id: ServedId): number {
    const { guests } = this.files.facts.device.cm;
    if (id.state === 'listen') {
      if (id.space.datagrams) guests.withdraw(serviceIdOf(id));
      else guests.unlisten(serviceIdOf(id));
    }
    this.#drop((event) => event.id === id);
    for (const group of [...this.files.groups.values()]) if (group.id === id) this.files.groups.delete(group.number);
    if (id.connection !== undefined) guests.destroy(id.connection);
    this.files.ids.delete(id.number);
    return id.eventsRead;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const id of [...this.files.ids.values()]) if (id.sink === this) this.destroy(id);
    this.files.forget(this);
  }
}

/** A request that has come. */
type Arrival = Extract<CmEvent, { type: 'connect-request' | 'resolve-request' }>;

/** The service that a listening id offers. */
export function serviceIdOf({ space, source }: ServedId): bigint {
  return rdmaServiceId(space.base, source?.port ?? 0);
}
