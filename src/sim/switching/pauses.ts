/**
 * Priority flow control on the wire: frames that pause the other end of a link, repeated while the pause lasts, and the
 * effect on a port that receives one. Owns when such a frame is sent. The buffer decides whether one is needed
 * (`switch-node.ts`).
 *
 * A pause has the maximum duration (65,535 quanta) and is repeated at half of that time while its cause lasts; 0 quanta
 * end it. The frames are real ones, go before all others, take wire time and travel the link. One at most waits at a
 * port, for what is sent there just now: later changes are written into it, so that the last state is never late
 * (`buffer/headroom.ts` counts on that). Rule: IEEE 802.1Qbb as `packets/pfc.ts` has it.
 */
import type { MacAddress } from '../../../packets/address.ts';
import {
  isPfc,
  PFC_FRAME_BYTES,
  PFC_MAX_QUANTA,
  PFC_PRIORITIES,
  PFC_QUANTUM_BITS,
  pfcEnableVector,
  pfcQuanta,
  writePfc,
} from '../../../packets/pfc.ts';
import type { EgressPort } from './egress-port.ts';
import { CONTROL } from './options.ts';
import { EventKind, type Transmitter } from './transmitter.ts';

/** Pauses of a network, sent and received. */
export class Pauses {
  readonly #transmitter: Transmitter;
  readonly #quanta = new Uint16Array(PFC_PRIORITIES);

  constructor(transmitter: Transmitter) {
    this.#transmitter = transmitter;
  }

  /** Asks the other end of the link of `port` not to send `priority`. */
  pause(port: EgressPort, priority: number): void {
    port.pausing |= 1 << priority;
    this.#send(port, 1 << priority, PFC_MAX_QUANTA);
    if (port.refreshing) return;
    port.refreshing = true;
    this.#scheduleRefresh(port);
  }

  /** Ends the pause of `priority`. */
  resume(port: EgressPort, priority: number): void {
    port.pausing &= ~(1 << priority);
    this.#send(port, 1 << priority, 0);
  }

  /** For the event. */
  refresh(port: EgressPort): void {
    if (port.pausing === 0) {
      port.refreshing = false;
      return;
    }
    this.#send(port, port.pausing, PFC_MAX_QUANTA);
    this.#scheduleRefresh(port);
  }

  /** A frame of flow control has come for `port`, which sends in the other direction. */
  received(port: EgressPort, slot: number): void {
    const { store, now } = this.#transmitter;
    const start = store.start(slot);
    const { view } = store;
    const { pauses } = port;
    if (pauses === undefined || !isPfc(view, start, start + store.length(slot))) return;
    const enabled = pfcEnableVector(view, start);
    let paused = 0;
    for (let priority = 0; priority < PFC_PRIORITIES; priority++) {
      if ((enabled & (1 << priority)) === 0) continue;
      const quanta = pfcQuanta(view, start, priority);
      pauses.pause(now, priority, quanta);
      if (quanta > 0) paused |= 1 << priority;
    }
    this.#apply(port, enabled, paused);
  }

  /** For the event: a pause of `port` may have ended by itself. */
  ended(port: EgressPort): void {
    const { pauses } = port;
    port.pauseEnding = false;
    for (let priority = 0; priority < PFC_PRIORITIES; priority++)
      if (pauses?.isPaused(this.#transmitter.now, priority) === false) this.#transmitter.unblock(port, priority);
    this.#scheduleEnd(port);
  }

  /** A frame of flow control begins to leave `port`. */
  left({ tally }: EgressPort, slot: number): void {
    const { store } = this.#transmitter;
    const start = store.start(slot);
    for (let priority = 0; priority < PFC_PRIORITIES; priority++)
      if (pfcQuanta(store.view, start, priority) > 0) {
        tally.pausesSent++;
        return;
      }
    tally.resumesSent++;
  }

  #apply(port: EgressPort, enabled: number, paused: number): void {
    const transmitter = this.#transmitter;
    if (paused !== 0) port.tally.pausesReceived++;
    for (let priority = 0; priority < PFC_PRIORITIES; priority++) {
      const bit = 1 << priority;
      if ((paused & bit) !== 0) transmitter.block(port, priority);
      else if ((enabled & bit) !== 0) transmitter.unblock(port, priority);
    }
    this.#scheduleEnd(port);
  }

  /** One event for each port: pauses are all equally long, so that one which came later never ends earlier. */
  #scheduleEnd(port: EgressPort): void {
    if (port.pauseEnding || port.blocked === 0 || port.pauses === undefined) return;
    let first = Infinity;
    for (let priority = 0; priority < PFC_PRIORITIES; priority++)
      if (port.isBlocked(priority)) first = Math.min(first, port.pauses.resumeTime(priority));
    port.pauseEnding = true;
    this.#transmitter.schedule(first, EventKind.PauseEnd, port.index);
  }

  #send(port: EgressPort, enabled: number, quanta: number): void {
    const transmitter = this.#transmitter;
    const { store } = transmitter;
    const waiting = port.head(CONTROL);
    const slot = waiting < 0 ? store.take(PFC_FRAME_BYTES, CONTROL, -1) : waiting;
    const start = store.start(slot);
    let all = enabled;
    if (waiting < 0) this.#quanta.fill(0);
    else {
      all |= pfcEnableVector(store.view, start);
      for (let priority = 0; priority < PFC_PRIORITIES; priority++)
        this.#quanta[priority] = pfcQuanta(store.view, start, priority);
    }
    for (let priority = 0; priority < PFC_PRIORITIES; priority++)
      if ((enabled & (1 << priority)) !== 0) this.#quanta[priority] = quanta;
    writePfc(store.view, start, macOf(port), all, this.#quanta);
    if (waiting < 0) transmitter.enqueue(port, slot);
  }

  #scheduleRefresh(port: EgressPort): void {
    const quantumNs = (PFC_QUANTUM_BITS * 1e9) / port.rateBps;
    const at = Math.ceil(this.#transmitter.now + (PFC_MAX_QUANTA / 2) * quantumNs);
    this.#transmitter.schedule(at, EventKind.Refresh, port.index);
  }
}

/** Locally administered, of the port: a capture of a link shows the sender of a pause. */
function macOf({ node, port }: EgressPort): MacAddress {
  return Uint8Array.of(0x02, 0x01, node >>> 8, node, port >>> 8, port);
}
