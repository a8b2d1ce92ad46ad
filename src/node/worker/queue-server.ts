/**
 * The verbs of domains, completion queues and queue pairs, served in the worker, and the far end of the ring of posts.
 * Memory is the business of `key-server.ts`, shared receive queues of `srq-server.ts`.
 */

import { invariant } from '../../../packets/errors.ts';
import type { AddressHandle } from '../../../transport/address-handle.ts';
import type { MemoryRegion } from '../../../transport/memory.ts';
import type { RecvWr, SendWr, Sge } from '../../../transport/work.ts';
import { XrcTarget } from '../../../transport/xrc-queue-pair.ts';
import type { Device } from '../../device/device.ts';
import { qpCapabilities } from '../../device/options.ts';
import type { Qp } from '../../device/verbs/index.ts';
import type { KeyServer } from './key-server.ts';
import type { Outbox } from './outbox.ts';
import type { PostSink } from './post-ring.ts';
import type { ServedObjects } from './served.ts';
import { ServedQp } from './served-qp.ts';
import { SharedCq } from './shared-cq.ts';
import type { QueueVerbs } from './verbs.ts';
import {
  type ObjectHandle,
  revive,
  reviveVector,
  type WireBind,
  type WireQp,
  type WireQpInit,
  type WireReg,
  type WireSge,
} from './wire-values.ts';

export class QueueServer implements PostSink {
  /** Called when the application is notified of completions: it is likely to post the next request. */
  expectPosts: () => void = () => {};
  readonly #device: Device;
  readonly #outbox: Outbox;
  readonly #served: ServedObjects;
  readonly #keys: KeyServer;

  /** The handlers. */
  readonly verbs: QueueVerbs = {
    allocPd: () => this.#served.pds.add(this.#device.allocPd()),
    createCq: (capacity) => {
      let handle = 0;
      const watcher = {
        completed: (qpn: number) => this.#completed(qpn),
        invalidated: (keys: readonly number[]) => this.#keys.refresh(keys),
        wanted: () => {
          this.#outbox.post({ kind: 'completions', cq: handle });
          this.expectPosts();
        },
      };
      const cq = this.#device.createCq(capacity, (room, notified, most) => new SharedCq(room, notified, most, watcher));
      invariant(cq instanceof SharedCq, 'the device makes the completion queue it is told to make');
      handle = this.#served.cqs.add(cq);
      void this.#tellCqEvents(handle, cq);
      return { cq: handle, ring: cq.memory };
    },
    resizeCq: (handle, capacity) => {
      const cq = this.#served.cqs.found(handle);
      cq.resize(capacity);
      return cq.memory;
    },
    destroyCq: (handle) => {
      this.#device.destroyCq(this.#served.cqs.found(handle));
      this.#served.cqs.delete(handle);
    },
    createQp: (pd, { srq, ...init }) => {
      const { pds, cqs, srqs } = this.#served;
      const sendCq = cqs.found(init.sendCq);
      const recvCq = cqs.found(init.recvCq);
      const shared = srq === undefined ? {} : { srq: srqs.found(srq).srq };
      const qp = pds.found(pd).createQp({ ...init, ...shared, sendCq, recvCq });
      return this.serve(qp, init);
    },
    modifyQp: (handle, { av, altAv, ...rest }) => {
      this.qp(handle).qp.modifyNow({
        ...rest,
        ...(av === undefined ? {} : { av: reviveVector(av) }),
        ...(altAv === undefined ? {} : { altAv: reviveVector(altAv) }),
      });
    },
    congestionOf: (handle) => this.qp(handle).qp.congestion,
    attachMcast: async (handle, group) => {
      await this.qp(handle).qp.attachMcast(revive(group));
    },
    detachMcast: (handle, group) => {
      this.qp(handle).qp.detachMcast(revive(group));
    },
    postSend: (handle, { sges, ah, mw, bind, reg, ...rest }) => {
      const served = this.qp(handle);
      const to = ah === undefined ? undefined : this.ah(ah);
      served.postSend({
        ...rest,
        ...(sges === undefined ? {} : { sges: this.sges(sges) }),
        ...(to === undefined ? {} : { ah: to }),
        ...(mw === undefined ? {} : { mw: this.#keys.window(mw) }),
        ...(bind === undefined ? {} : { bind: this.#revivedBind(bind) }),
        ...(reg === undefined ? {} : { reg: this.#revivedReg(reg) }),
      });
      served.refresh();
    },
    postRecv: (handle, { wrId, sges }) => {
      const served = this.qp(handle);
      served.postRecv(sges === undefined ? { wrId } : { wrId, sges: this.sges(sges) });
      served.refresh();
    },
    destroyQp: (handle) => {
      this.#served.qps.get(handle)?.qp.destroy();
      this.#served.qps.delete(handle);
      // Its windows are unbound now.
      this.#keys.refreshAll();
    },
  };

  constructor(device: Device, outbox: Outbox, served: ServedObjects, keys: KeyServer) {
    this.#device = device;
    this.#outbox = outbox;
    this.#served = served;
    this.#keys = keys;
  }

  // The ring of posts. The application has checked what it puts there.

  send(handle: ObjectHandle, wr: SendWr): void {
    const served = this.#served.qps.get(handle);
    // The device may have been closed by its wire meanwhile: as if the link had failed right after the post.
    if (served === undefined || served.qp.destroyed) return;
    served.postSend(wr);
  }

  recv(handle: ObjectHandle, wr: RecvWr): void {
    const served = this.#served.qps.get(handle);
    if (served === undefined || served.qp.destroyed) return;
    served.postRecv(wr);
  }

  srqRecv(srqn: ObjectHandle, wr: RecvWr): void {
    const served = this.#served.srqs.get(srqn);
    // A queue may have failed meanwhile: its receives are never taken.
    if (served === undefined || served.srq.destroyed || served.srq.core.failed) return;
    served.postRecv(wr);
  }

  region(key: number): MemoryRegion {
    return this.#keys.region(key);
  }

  ah(handle: ObjectHandle): AddressHandle | undefined {
    return this.#served.ahs.get(handle);
  }

  // For the other servers.

  /** @throws RoceError ERR_ROCE_CLOSED */
  qp(handle: ObjectHandle): ServedQp {
    return this.#served.qps.found(handle);
  }

  /** Adds a new queue pair to the table. */
  serve(qp: Qp, init: WireQpInit | typeof NO_ROOM): WireQp {
    const served = new ServedQp(qp, (keys) => this.#keys.refresh(keys));
    this.#served.qps.set(qp.qpn, served);
    void this.#tellEvents(served);
    const capabilities = init === NO_ROOM ? NO_ROOM : qpCapabilities(init, this.#device.limits);
    const { profile } = qp.core.config;
    return { qpn: qp.qpn, type: qp.type, capabilities, profile, status: served.memory };
  }

  sges(sges: readonly WireSge[]): Sge[] {
    return sges.map(({ key, offset, length }) => ({ mr: this.region(key), offset, length }));
  }

  /** Before a completion of this queue pair is shown. */
  #completed(qpn: number): void {
    const served = this.#served.qps.get(qpn);
    if (served === undefined) return;
    served.refresh();
    const { core } = served.qp;
    if (core.srq !== undefined) this.#served.srqs.get(core.srq.srqn)?.refresh();
    if (!(core instanceof XrcTarget)) return;
    for (const srq of this.#served.srqs.values()) if (srq.srq.core.domain === core.domain) srq.refresh();
  }

  #revivedBind({ mr, ...rest }: WireBind) {
    return { ...rest, mr: this.region(mr) };
  }

  #revivedReg({ mr, maxBytes, memory, ...rest }: WireReg) {
    const bytes = memory && { memory: new Uint8Array(memory.buffer, memory.offset, memory.length) };
    return { ...rest, ...bytes, mr: this.#keys.fastRegion(mr, rest.key, maxBytes) };
  }

  async #tellCqEvents(handle: ObjectHandle, cq: SharedCq): Promise<void> {
    for await (const event of cq.events) this.#outbox.post({ kind: 'cq-event', cq: handle, event });
  }

  async #tellEvents(served: ServedQp): Promise<void> {
    for await (const event of served.qp.events) {
      served.refresh();
      this.#outbox.post({ kind: 'qp-event', qp: served.qp.qpn, event });
    }
  }
}

/** For queue pairs to which nothing is posted. */
export const NO_ROOM = { maxSendWr: 0, maxRecvWr: 0, maxSge: 0, maxInlineData: 0 };
