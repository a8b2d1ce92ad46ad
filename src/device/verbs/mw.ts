/**
 * Memory window of the verbs API. Thin: what a window may do is in transport/key-table.ts; a work request binds it, and
 * each bind changes its key.
 */
import type { ProtectionDomain, WindowType } from '../../../transport/memory.ts';
import { MemoryWindow } from '../../../transport/memory.ts';
import type { RdmaMw } from '../api.ts';

/** The device's table of windows. */
export interface MwResources {
  deallocMw(mw: Mw): void;
}

/**
 * A part of a region, lent to one queue pair or to all of a domain (ibv_mw).
 *
 * @example
 * ```ts
 * import { Access, attachDevice, World, WrOpcode } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: 7471, qp }), accepted]));
 * const mr = peer.pd.regMr(4096, { access: Access.LocalWrite | Access.MwBind });
 * const mw = peer.pd.allocMw();
 * const bind = { mr, addr: mr.iova, length: 64, access: Access.RemoteWrite };
 * peer.postSend({ wrId: 1, opcode: WrOpcode.BindMw, mw, rkey: mw.rkey + 1, bind });
 * await world.run(toB.next());
 * qp.postSend({ wrId: 2, opcode: WrOpcode.RdmaWrite, remoteAddr: mr.iova, rkey: mw.rkey, inline: Uint8Array.of(7) });
 * await world.run(toA.next());
 * console.log(mr.bytes[0]); // 7
 * ```
 */
export class Mw extends MemoryWindow implements RdmaMw {
  readonly #resources: MwResources;

  /** Called by `Resources.allocMw`. @internal */
  constructor(resources: MwResources, pd: ProtectionDomain, rkey: number, type: WindowType) {
    super(pd, rkey, type);
    this.#resources = resources;
  }

  /** Frees the window, bound or not (ibv_dealloc_mw). Throws ERR_ROCE_STATE when it is freed already. */
  dealloc(): void {
    this.#resources.deallocMw(this);
  }
}
