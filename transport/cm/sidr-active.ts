/**
 * The side that looks for a datagram service: SIDR_REQ goes out, repeated until SIDR_REP comes in.
 *
 * Owns: the resolutions under way. Never: the other side (sidr-passive.ts), what the application does with the answer.
 * Rules: CM-24 (ref:conformance#CM); what matches an answer to its question is the request id alone in
 * rdma:cm.c#cm_sidr_rep_handler, here the address as well (SEC-14). There is no MRA and no end: nothing is connected.
 */
import type { IpAddress } from '../../packets/address.ts';
import { type CmSidrRep, CmSidrStatus, ipCmHeaderRule } from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import { GSI_PKEY } from '../../packets/mad.ts';
import { type CmCore, NO_BYTES } from './core.ts';
import { Deadlines, type Timed } from './deadlines.ts';
import { checkResolve, isDataQpn } from './parameters.ts';
import { behindIpCmHeader } from './private-data.ts';
import type { ResolveParameters } from './sidr-types.ts';
import {
  type CmId,
  CmInputStatus,
  codeToNs,
  DEFAULT_CM_RESPONSE_TIMEOUT,
  DEFAULT_CM_RETRIES,
  type MadOrigin,
} from './types.ts';

interface Resolution extends Timed {
  readonly id: CmId;
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly request: Uint8Array;
  readonly intervalNs: number;
  retriesLeft: number;
}

export class SidrActive {
  readonly #core: CmCore;
  readonly #byId = new Map<CmId, Resolution>();
  readonly #deadlines = new Deadlines<Resolution>();

  constructor(core: CmCore) {
    this.#core = core;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Deadlines of lookups. */
  get entries(): number {
    return this.#deadlines.size;
  }

  has(id: CmId): boolean {
    return this.#byId.has(id);
  }

  /** Sends SIDR_REQ. What follows is `resolved` or `unresolved`. */
  resolve(now: number, parameters: ResolveParameters): CmId {
    checkResolve(parameters);
    const { serviceId, local, remote, localPort, privateData = NO_BYTES } = parameters;
    const id = this.#core.unusedId();
    if (id === undefined) throw new RoceError('ERR_ROCE_LIMIT', 'no communication id is free');
    const headed = ipCmHeaderRule(serviceId) !== 'never';
    const request = this.#core.send(local, remote, this.#core.transactionOf(id), {
      kind: 'SIDR_REQ',
      body: {
        requestId: id,
        partitionKey: parameters.partitionKey ?? GSI_PKEY,
        serviceId,
        privateData: headed
          ? behindIpCmHeader({ sourcePort: localPort, source: local, destination: remote }, privateData)
          : privateData,
      },
    });
    const resolution: Resolution = {
      id,
      local,
      remote,
      request,
      intervalNs: codeToNs(parameters.cmResponseTimeout ?? DEFAULT_CM_RESPONSE_TIMEOUT),
      retriesLeft: parameters.maxCmRetries ?? DEFAULT_CM_RETRIES,
      deadline: Number.POSITIVE_INFINITY,
      heapIndex: -1,
    };
    this.#byId.set(id, resolution);
    this.#deadlines.set(resolution, now + resolution.intervalNs);
    return id;
  }

  /** No more events of this resolution. Unknown ids are fine. */
  cancel(id: CmId): void {
    const resolution = this.#byId.get(id);
    if (resolution !== undefined) this.#forget(resolution);
  }

  handleRep(rep: CmSidrRep, origin: MadOrigin): CmInputStatus {
    const resolution = this.#byId.get(rep.requestId);
    if (resolution === undefined) return CmInputStatus.UnknownId;
    if (!resolution.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
    this.#forget(resolution);
    // A queue pair that cannot receive datagrams is as good as none.
    const usable = rep.status !== CmSidrStatus.Success || isDataQpn(rep.qpn);
    this.#core.events.push({
      type: 'resolved',
      id: resolution.id,
      status: usable ? rep.status : CmSidrStatus.NoQp,
      qpn: rep.qpn,
      qkey: rep.qkey,
      info: rep.info.subarray(0, rep.infoLength),
      privateData: rep.privateData,
    });
    return usable ? CmInputStatus.Ok : CmInputStatus.Refused;
  }

  nextDeadline(): number {
    return this.#deadlines.next();
  }

  handleTimeout(now: number): void {
    for (const resolution of this.#deadlines.due(now)) {
      if (resolution.retriesLeft > 0) {
        resolution.retriesLeft--;
        this.#core.sendBytes(resolution.local, resolution.remote, resolution.request, true, false);
        this.#deadlines.set(resolution, now + resolution.intervalNs);
      } else {
        this.#forget(resolution);
        this.#core.events.push({ type: 'unresolved', id: resolution.id });
      }
    }
  }

  #forget(resolution: Resolution): void {
    this.#byId.delete(resolution.id);
    this.#deadlines.set(resolution, Number.POSITIVE_INFINITY);
  }
}
