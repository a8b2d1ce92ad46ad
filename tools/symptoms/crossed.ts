/**
 * Two ends that send to each other in vain, with something in their packets that is not the same at both.
 *
 * Owns the forging of such attempts. The stack of the stage would drop such packets silently, as adapters do; what a
 * capture shows of that is the requests alone.
 */
import { Op } from 'rocev2/packets';
import { type RoceSpec, roceFrame, station } from './forge.ts';
import type { Stage } from './stage.ts';

/** What the packets of an end have in place of the usual. */
export type Traits = Partial<Pick<RoceSpec, 'from' | 'to' | 'pkey' | 'migReq' | 'vlanTci' | 'hopLimit' | 'destQpn'>>;

/** Four tries of a SEND from each end, A's first, 4.2 ms apart, and other traffic afterwards. */
export async function crossedSends(stage: Stage, ofA: Traits, ofB: Traits, vantage?: string): Promise<void> {
  for (let attempt = 0; attempt < 4; attempt++) {
    const ids = { opcode: Op.SendOnly, ackReq: 1, ipId: 50 + attempt, payload: new Uint8Array(64) } as const;
    stage.forge(roceFrame({ from: station(1), to: station(2), destQpn: 0x22, psn: 100, ...ids, ...ofA }), vantage);
    await stage.sleep(10_000);
    stage.forge(roceFrame({ from: station(2), to: station(1), destQpn: 0x11, psn: 200, ...ids, ...ofB }), vantage);
    await stage.sleep(ACK_TIMEOUT_NS);
  }
  await stage.goOn(20e6);
}

/** 4.096 us * 2^10. */
const ACK_TIMEOUT_NS = 4_194_304;
