/** The verbs of shared receive queues and XRC domains, served in the worker. */
import { invariant } from '../../../packets/errors.ts';
import type { Device } from '../../device/device.ts';
import { Pd } from '../../device/verbs/index.ts';
import type { Outbox } from './outbox.ts';
import { NO_ROOM, type QueueServer } from './queue-server.ts';
import type { ServedObjects } from './served.ts';
import { ServedSrq } from './served-srq.ts';
import type { SrqVerbs } from './verbs.ts';

export class SrqServer {
  readonly #device: Device;
  readonly #outbox: Outbox;
  readonly #served: ServedObjects;
  readonly #queues: QueueServer;

  /** The handlers. */
  readonly verbs: SrqVerbs = {
    createSrq: (pd, { xrc, ...init }) => {
      const { pds, xrcds, cqs, srqs } = this.#served;
      const domain = xrc === undefined ? {} : { xrcd: xrcds.found(xrc.xrcd), cq: cqs.found(xrc.cq) };
      const srq = pds.found(pd).createSrq({ ...init, ...domain });
      const served = new ServedSrq(srq);
      srqs.set(srq.srqn, served);
      void this.#tellEvents(served);
      return { srqn: srq.srqn, maxSge: srq.maxSge, status: served.memory };
    },
    modifySrq: (srqn, attributes) => {
      const served = this.#served.srqs.found(srqn);
      served.srq.modify(attributes);
      served.refresh();
    },
    postSrqRecv: (srqn, { wrId, sges }) => {
      const served = this.#served.srqs.found(srqn);
      served.postRecv(sges === undefined ? { wrId } : { wrId, sges: this.#queues.sges(sges) });
      served.refresh();
    },
    destroySrq: (srqn) => {
      this.#served.srqs.get(srqn)?.srq.destroy();
      this.#served.srqs.delete(srqn);
    },
    openXrcd: () => this.#served.xrcds.add(this.#device.openXrcd()),
    createXrcTarget: (xrcd) => {
      const qp = this.#served.xrcds.found(xrcd).createQp();
      const { pd } = qp;
      invariant(pd instanceof Pd, 'a device in this thread makes its protection domains itself');
      return { ...this.#queues.serve(qp, NO_ROOM), pd: this.#served.pds.add(pd) };
    },
    closeXrcd: (xrcd) => {
      this.#served.xrcds.get(xrcd)?.close();
      this.#served.xrcds.delete(xrcd);
    },
  };

  constructor(device: Device, outbox: Outbox, served: ServedObjects, queues: QueueServer) {
    this.#device = device;
    this.#outbox = outbox;
    this.#served = served;
    this.#queues = queues;
  }

  async #tellEvents(served: ServedSrq): Promise<void> {
    for await (const event of served.srq.events) {
      served.refresh();
      this.#outbox.post({ kind: 'srq-event', srqn: served.srq.srqn, event });
    }
  }
}
