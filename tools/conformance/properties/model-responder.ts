/**
 * The abstract responder as a peer: an honest one, for a requester that is to be tested. It takes the first of all
 * outcomes and gives every answer at once.
 */
import { defined, Op } from 'rocev2/packets';
import { ack, type Packet } from 'rocev2/packets/kit';
import { PROFILES } from '../model/profiles.ts';
import { step } from '../model/responder-model.ts';
import { type ExpectedReply, freshState, type ResponderSetup, type ResponderState } from '../model/responder-state.ts';
import { REMOTE } from './requester-stage.ts';
import { TRIAL_MTU } from './responder-trial.ts';

export class ModelResponder {
  readonly #setup: ResponderSetup = {
    ...{
      profile: PROFILES.strict,
      mtu: TRIAL_MTU,
      region: { va: REMOTE.va, rkey: REMOTE.rkey, length: REMOTE.bytes.length },
    },
    ...{ access: { read: true, write: true, atomic: true }, receiveBytes: REMOTE.bytes.length },
    ...{ maxDestRdAtomic: 16, rnrTimer: 12, flush: false, atomicWrite: false },
  };
  #state: ResponderState = freshState(REMOTE.bytes, Number.MAX_SAFE_INTEGER);
  /** What READs and atomics were answered with, by PSN of the request. */
  readonly #answers = new Map<number, Uint8Array>();

  /** The answers to a packet, in order. */
  take(packet: Packet): Packet[] {
    const [outcome] = step(this.#setup, this.#state, packet);
    if (outcome === undefined) return [];
    this.#state = outcome.state;
    const { msn, past } = outcome.state;
    const packets = outcome.replies.map((reply) => packetOf(reply, msn));
    this.#keep(packets);
    if (outcome.owed === undefined) return packets;
    const newest = past.findLast((one) => one.packet.opcode !== Op.ReadRequest)?.last ?? outcome.owed.psn;
    return [...packets, ack({ psn: newest, msn })];
  }

  /** What the READ or atomic at this PSN was answered with, last. */
  answerTo(psn: number): Uint8Array | undefined {
    return this.#answers.get(psn);
  }

  #keep(replies: readonly Packet[]): void {
    for (const { psn, payload, original } of replies) {
      const request = this.#state.past.find(({ first, last }) => psn >= first && psn <= last);
      if (request === undefined) continue;
      const known = this.#answers.get(request.first) ?? new Uint8Array(0);
      if (original !== undefined) {
        const bytes = new Uint8Array(8);
        new DataView(bytes.buffer).setBigUint64(0, original, true);
        this.#answers.set(request.first, bytes);
      } else if (payload !== undefined)
        this.#answers.set(request.first, over(known, payload, (psn - request.first) * TRIAL_MTU));
    }
  }
}

function packetOf({ opcodes, psn, syndrome, original, data, images }: ExpectedReply, msn: number): Packet {
  const [opcode = Op.Acknowledge] = opcodes;
  const image = images?.[0];
  return {
    ...{ opcode, psn },
    ...(opcode === Op.ReadResponseMiddle ? {} : { msn, syndrome: syndrome === 'positive' ? 0x1f : syndrome }),
    ...defined({ original }),
    ...(data === undefined
      ? {}
      : { payload: image?.slice(data.offset, data.offset + data.length) ?? new Uint8Array(0) }),
  };
}

/** `payload` put over `bytes`, which grow where they are too few. */
function over(bytes: Uint8Array, payload: Uint8Array, at: number): Uint8Array {
  const grown = new Uint8Array(Math.max(bytes.length, at + payload.length));
  grown.set(bytes);
  grown.set(payload, at);
  return grown;
}
