/**
 * The open files of rdma_cm of one server, their ids and the ports these are bound to. Commands are in commands.ts.
 * An id of another file is refused as linux:core/ucma.c#_ucma_find_context does: EINVAL, and ENOENT for none at all.
 */

import { RdmaPortSpace, rdmaServiceId } from '../../../packets/cm/index.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import type { CmEvent } from '../../../transport/cm/index.ts';
import type { DeviceFacts } from '../device-facts.ts';
import { Errno, Refusal } from '../errno.ts';
import type { CommandResult, RdmaCmFile, RdmaCmFileHost } from '../host.ts';
import { CmEventType, type EventSink, ServedId, type WaitingEvent } from './served-id.ts';

const EPHEMERAL_FIRST = 0xc0_00;
const EPHEMERAL_COUNT = 0x40_00;

/** What runs commands on a file. */
export type CmCommands = (file: ServedCmFile, bytes: Uint8Array) => CommandResult | Promise<CommandResult>;

export class CmFiles {
  readonly facts: DeviceFacts;
  readonly ids = new Map<number, ServedId>();
  readonly #files = new Map<number, ServedCmFile>();
  readonly #run: CmCommands;
  #nextId = 1;

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

  newId(uid: bigint, sink: EventSink): ServedId {
    const { device, mtuCode } = this.facts;
    const id = new ServedId(this.#nextId++, uid, sink, device.random.u32() & PSN_MASK, mtuCode);
    this.ids.set(id.number, id);
    return id;
  }

  /** A port that nobody has. Refuses with EADDRNOTAVAIL. */
  freePort(): number {
    const first = this.facts.device.random.u32() % EPHEMERAL_COUNT;
    for (let i = 0; i < EPHEMERAL_COUNT; i++) {
      const port = EPHEMERAL_FIRST + ((first + i) % EPHEMERAL_COUNT);
      if (!this.#isTaken(port, false)) return port;
    }
    throw new Refusal(Errno.EADDRNOTAVAIL);
  }

  /** Refuses with EADDRINUSE a port that another id has (linux:core/cma.c#cma_check_port). */
  demandPort(port: number, reuse: boolean): void {
    if (this.#isTaken(port, reuse)) throw new Refusal(Errno.EADDRINUSE);
  }

  #isTaken(port: number, reuse: boolean): boolean {
    for (const { source, hasPort, reuse: shares, state } of this.ids.values())
      if (hasPort && source?.port === port && !(reuse && shares && state !== 'listen')) return true;
    return false;
  }
}

export class ServedCmFile implements RdmaCmFile, EventSink {
  readonly files: CmFiles;
  readonly host: RdmaCmFileHost;
  closed = false;
  /** Events not read, oldest first. */
  readonly events: WaitingEvent[] = [];
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

  push(event: WaitingEvent): void {
    this.events.push(event);
    this.host.eventReady();
  }

  requested(listener: ServedId, event: Extract<CmEvent, { type: 'connect-request' }>): void {
    const { guests } = this.files.facts.device.cm;
    if (listener.backlog <= 0) {
      guests.destroy(event.id);
      return;
    }
    listener.backlog -= 1;
    const { request, source, destination, ipHeader } = event;
    const child = this.files.newId(0n, this);
    child.state = 'connect';
    child.connection = event.id;
    child.source = { address: destination, port: listener.source?.port ?? 0 };
    child.destination = { address: source, port: ipHeader?.sourcePort ?? 0 };
    Object.assign(child.negotiated, {
      ...{ remoteQpn: request.localQpn, sqPsn: request.startingPsn, mtuCode: request.pathMtu },
      ...{ timeout: request.primaryPath.localAckTimeout, retryCount: request.retryCount },
      ...{ rnrRetryCount: request.rnrRetryCount, trafficClass: request.primaryPath.trafficClass },
    });
    guests.assign(event.id, child);
    // As the peer's wishes concern this side (rdma_get_cm_event(3)).
    listener.report(
      CmEventType.CONNECT_REQUEST,
      0,
      {
        ...{ qpNum: request.localQpn, privateData: event.privateData, srq: request.srq },
        ...{ responderResources: request.initiatorDepth, initiatorDepth: request.responderResources },
        ...{ flowControl: request.endToEndFlowControl, retryCount: request.retryCount },
        rnrRetryCount: request.rnrRetryCount,
      },
      child,
    );
  }

  /** Ends an id: its events, those of requests that nobody has read, its connection. Returns how many were read. */
  destroy(id: ServedId): number {
    const { device } = this.files.facts;
    if (id.state === 'listen' && id.source !== undefined) device.cm.guests.unlisten(serviceIdOfPort(id.source.port));
    for (const event of this.events.filter((waiting) => waiting.id === id)) {
      this.events.splice(this.events.indexOf(event), 1);
      if (event.child !== undefined) this.destroy(event.child);
    }
    if (id.connection !== undefined) device.cm.guests.destroy(id.connection);
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

/** The service id of a port of RDMA_PS_TCP. */
export function serviceIdOfPort(port: number): bigint {
  return rdmaServiceId(RdmaPortSpace.Tcp, port);
}
