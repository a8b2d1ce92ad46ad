/**
 * Sends the peer updates of credits and freed buffers, as soon as enough are free and a control message may be sent
 * (rdma:rsocket.c#rs_update_credits, #rs_send_credits). Owns the place in the peer's list that is written next.
 */
import type { RSocketQp } from './endpoint.ts';
import { type ConnData, RsOp, rsMessage, SGE_BYTES, writeSge } from './protocol.ts';
import type { ReceiveWindow } from './receive-window.ts';
import type { SendWindow } from './send-window.ts';

export class CreditUpdater {
  readonly #endpoint: RSocketQp;
  readonly #send: SendWindow;
  readonly #receive: ReceiveWindow;
  readonly #peer: ConnData;
  /** The peer fills its first entry itself, from our connection data. */
  #entry = 1;

  constructor(endpoint: RSocketQp, send: SendWindow, receive: ReceiveWindow, peer: ConnData) {
    this.#endpoint = endpoint;
    this.#send = send;
    this.#receive = receive;
    this.#peer = peer;
  }

  give(): void {
    const { messageSend } = this.#endpoint.settings;
    while (this.#receive.owes && this.#send.controlsFree(messageSend ? 2 : 1)) {
      const { credits, halfAt } = this.#receive.grant();
      const message = rsMessage(RsOp.Sgl, credits);
      this.#send.controls++;
      if (halfAt < 0) this.#endpoint.postMessage(message);
      else {
        if (messageSend) this.#send.controls++;
        this.#postHalf(message, halfAt);
      }
    }
  }

  #postHalf(message: number, halfAt: number): void {
    const { receiveRegion, settings } = this.#endpoint;
    const { targetSgl, bigEndian } = this.#peer;
    const bytes = new Uint8Array(SGE_BYTES);
    const half = {
      addr: receiveRegion.iova + BigInt(halfAt),
      key: receiveRegion.rkey,
      length: settings.receiveBuffer / 2,
    };
    writeSge(new DataView(bytes.buffer), 0, half, !bigEndian);
    const entry = { addr: targetSgl.addr + BigInt(this.#entry * SGE_BYTES), key: targetSgl.key };
    this.#entry = (this.#entry + 1) % targetSgl.length;
    this.#endpoint.postWriteMessage(message, this.#endpoint.controlSource(bytes), entry);
  }
}
