/**
 * A connection and where it stands: what the device must take is the next packet, what it must ignore leaves the next
 * one as it was. Owns the count of PSNs and messages, so that a case can send long rows of stimuli over one connection.
 */
import { describePacket, type Packet, type RethFields, writeOnly } from 'rocev2/packets/kit';
import type { TesterConnectOptions } from '../tester/connect.ts';
import { Violation } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

/** A packet made for the PSN that is expected. */
export type MakePacket = (psn: number) => Packet;

export class RequestSequence {
  readonly peer: TesterPeer;
  /** PSN of the next new request. */
  psn = 0;
  /** Messages that were executed. */
  msn = 0;

  constructor(peer: TesterPeer) {
    this.peer = peer;
  }

  static async open(t: Tester, options: TesterConnectOptions = {}): Promise<RequestSequence> {
    return new RequestSequence(await t.connect(options));
  }

  /** Where WRITEs of `length` bytes may go. */
  reth(length: number): RethFields {
    const { va, rkey } = this.peer.region;
    return { va, rkey, length };
  }

  /**
   * None of these may draw an answer or change anything: a few at a time, each few with a sentinel behind them. A READ
   * of no bytes is no stimulus: it could not be distinguished from the sentinel.
   */
  async ignores(stimuli: readonly MakePacket[], few = FEW): Promise<void> {
    for (let i = 0; i < stimuli.length; i += few)
      await this.ignored(stimuli.slice(i, i + few).map((make) => make(this.psn)));
  }

  /** As `ignores`, for packets that are made already or frames that are none. */
  async ignored(stimuli: readonly (Packet | RawFrame)[]): Promise<void> {
    for (const one of stimuli) {
      if ('frame' in one) this.peer.txFrame(one.frame, one.note);
      else this.peer.tx(one);
    }
    await naming(stimuli.map(wordsOf), () => this.peer.expectNextPsn(this.psn, this.msn + 1));
    this.psn++;
    this.msn++;
  }

  /** Each of these is a whole request that must be executed and acknowledged. */
  async accepts(...stimuli: readonly MakePacket[]): Promise<void> {
    for (const make of stimuli) {
      const packet = make(this.psn);
      this.peer.tx(packet);
      await naming([describePacket(packet)], () => this.peer.expectAck(this.psn, this.msn + 1));
      this.psn++;
      this.msn++;
    }
  }

  /** A WRITE of `payload` to the beginning of the region, requesting an ACK. */
  write(payload: Uint8Array, more: Partial<Packet> = {}): MakePacket {
    return (psn) => ({ ...writeOnly({ psn, ackReq: true, payload, reth: this.reth(payload.length) }), ...more });
  }
}

/** A frame that no packet describes. */
export interface RawFrame {
  readonly frame: Uint8Array;
  readonly note: string;
}

/** IP versions that the device has addresses of. */
export function versionsOf({ dut }: Tester): (4 | 6)[] {
  return ([4, 6] as const).filter((version) => dut.addresses.some(({ address }) => address.version === version));
}

/** A violation says after which stimuli it was. */
async function naming(stimuli: readonly string[], probe: () => Promise<unknown>): Promise<void> {
  try {
    await probe();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const between = stimuli.length > 2 ? ` ... ${stimuli.length} packets ... ` : ', ';
    const ends = stimuli.length > 1 ? [stimuli[0], stimuli.at(-1)] : stimuli;
    throw new Violation(stimuli.length === 0 ? error.message : `after ${ends.join(between)}: ${error.message}`);
  }
}

const wordsOf = (one: Packet | RawFrame): string => ('frame' in one ? one.note : describePacket(one));

/** So many stimuli share a sentinel: where one draws an answer, the report has few to choose from. */
const FEW = 16;
