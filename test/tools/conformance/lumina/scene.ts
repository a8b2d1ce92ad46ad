/** A trace made by hand: what each end sent and got, line by line, so that a test can say what no device would do. */
import { Op } from '../../../../packets/opcode.ts';
import type {
  CheckResult,
  Trace,
  TracePacket,
  TrafficConnection,
  TrafficEnd,
} from '../../../../tools/conformance/lumina/checks.ts';
import type { InjectedAction, Injection } from '../../../../tools/conformance/lumina/trace.ts';

export const FIRST = 0xff_ff_f0;
export const MTU = 256;
export const PACE = { timeoutNs: 1e6, slackNs: 1e3 };

/** End a asks, end b answers. */
export const connectionOf = (psns: number): TrafficConnection => ({
  ...{ requester: 'a', requesterQpn: 17, responderQpn: 34, firstPsn: FIRST, mtu: MTU, psns },
});

interface Said {
  /** The bump takes it away or damages it. */
  readonly deed?: InjectedAction;
  readonly ackReq?: boolean;
  readonly marked?: boolean;
  /** It only leaves, and arrives with `arrives`. */
  readonly under?: boolean;
}

/** Time goes on by a microsecond with every line. */
export class Scene {
  readonly packets: TracePacket[] = [];
  readonly injections: Injection[] = [];
  timeNs = 0;

  get trace(): Trace {
    return { packets: this.packets, injections: this.injections };
  }

  pass(ns: number): this {
    this.timeNs += ns;
    return this;
  }

  /** WRITE packets of the requester. */
  sends(...psns: number[]): this {
    for (const psn of psns) this.send(psn);
    return this;
  }

  send(psn: number, said: Said = {}): this {
    return this.#say('a', { opcode: Op.WriteMiddle, psn, destQpn: 34 }, said);
  }

  reads(
    psn: number,
    packets: number,
    { va = 0x1000n + BigInt(psn * MTU), ...said }: Said & { va?: bigint } = {},
  ): this {
    const reth = { va, length: packets * MTU };
    return this.#say('a', { opcode: Op.ReadRequest, psn, destQpn: 34, reth }, said);
  }

  acks(psn: number, said?: Said): this {
    return this.#say('b', { opcode: Op.Acknowledge, psn, destQpn: 17, syndrome: 0x1f }, said);
  }

  naks(psn: number, said?: Said): this {
    return this.#say('b', { opcode: Op.Acknowledge, psn, destQpn: 17, syndrome: 0x60 }, said);
  }

  responds(...psns: number[]): this {
    for (const psn of psns) this.respond(psn);
    return this;
  }

  respond(psn: number, said?: Said): this {
    return this.#say('b', { opcode: Op.ReadResponseMiddle, psn, destQpn: 17 }, said);
  }

  /** What was under way arrives, in order. */
  arrives(): this {
    for (const packet of this.#under.splice(0)) this.#put(packet);
    return this;
  }

  /** A packet as it is, seen once. */
  put(packet: Partial<TracePacket>): this {
    this.timeNs += 1e3;
    this.#put({ ...BLANK, timeNs: this.timeNs, ...packet });
    return this;
  }

  readonly #under: TracePacket[] = [];

  #say(end: TrafficEnd, what: Partial<TracePacket> & { psn: number }, { deed, under, ...said }: Said = {}): this {
    this.timeNs += 1e3;
    const psn = (what.psn + FIRST) & 0xff_ff_ff;
    const packet = { ...BLANK, timeNs: this.timeNs, end, ...what, ...said, psn };
    const sent = this.#put(packet);
    if (deed !== undefined) this.injections.push({ deeds: [deed], packet: sent });
    const got: TracePacket = { ...packet, end: end === 'a' ? 'b' : 'a', way: 'got', whole: deed !== 'corrupted' };
    if (under === true) this.#under.push(got);
    else if (deed !== 'dropped') this.#put(got);
    return this;
  }

  #put(packet: TracePacket): TracePacket {
    const numbered = { ...packet, number: this.packets.length + 1 };
    this.packets.push(numbered);
    return numbered;
  }
}

const BLANK: TracePacket = {
  ...{ number: 0, timeNs: 0, end: 'a', way: 'sent', opcode: 0, psn: 0, destQpn: 0 },
  ...{ source: '', destination: '', whole: true, ackReq: false, marked: false, syndrome: -1, reth: undefined },
};

/** Rules that were broken. */
export const brokenOf = (results: readonly CheckResult[]): string[] =>
  results.filter(({ ok }) => !ok).map(({ rule, check }) => rule ?? check);

/** What a check says of one rule. */
export function of(results: readonly CheckResult[], rule: string): CheckResult {
  const found = results.find((one) => one.rule === rule || one.check === rule);
  if (found === undefined) throw new Error(`nothing is said of ${rule}`);
  return found;
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
