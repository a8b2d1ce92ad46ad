/**
 * Passive checks: every packet that the device sends during a run is compared with the passive rules. A rule passes
 * when at least one packet was looked at and none broke it; the first that did is named. Owns the counts and what is
 * remembered of a connection; the rules are checks.ts.
 */
import { describeSighting, type Sighting } from 'rocev2/packets/kit';
import type { Dut } from '../tester/dut.ts';
import { PASSIVE_CHECKS, type PassiveCheckContext } from './checks.ts';
import { findIcrcEnd, type Headers, readHeaders } from './headers.ts';

export type { PassiveCheckContext } from './checks.ts';

/** A passive rule, judged. */
export interface PassiveCheckResult {
  readonly rule: string;
  readonly verdict: 'pass' | 'fail' | 'inconclusive';
  /** Why; empty for a pass. */
  readonly reason: string;
}

export interface PassiveChecks {
  /** A case begins: queue pair numbers of ours may mean others than before. */
  begin(): void;
  /** A RoCE packet of the device. */
  check(sighting: Sighting): void;
  /**
   * A frame that the parser took for nothing of RoCE; `ip` is where its IP header would be. It may be a RoCE packet all
   * the same.
   */
  checkOther(bytes: Uint8Array, ip: number, timeNs: number): void;
  /** One result for each rule. */
  results(): PassiveCheckResult[];
}

/** The rules that are watched. */
export const PASSIVE_RULES: readonly string[] = PASSIVE_CHECKS.map(({ rule }) => rule);

export function makePassiveChecks(context: PassiveCheckContext = {}): PassiveChecks {
  return new PacketChecks(context);
}

/** For the packets of this device. */
export function passiveChecksOf({ features, addresses }: Pick<Dut, 'features' | 'addresses'>): PassiveChecks {
  return makePassiveChecks({
    // A device that does not say otherwise may have congestion control.
    congestion: features?.includes('cnp') !== false,
    addresses: addresses.map(({ address, ours }) => ({ device: `${address}`, ours: `${ours}` })),
  });
}

class PacketChecks implements PassiveChecks {
  readonly #context: PassiveCheckContext;
  /** By check: packets looked at, and what the first that broke it was. */
  readonly #looked = new Map<string, number>();
  readonly #broken = new Map<string, string>();
  /** Source port of each connection of this case, by our queue pair number. */
  readonly #ports = new Map<number, number>();
  #count = 0;

  constructor(context: PassiveCheckContext) {
    this.#context = context;
  }

  begin(): void {
    this.#ports.clear();
  }

  check(sighting: Sighting): void {
    const headers = readHeaders(sighting.bytes, sighting.at.ip);
    if (headers !== undefined) this.#judge(headers, sighting, () => describeSighting(sighting), sighting.timeNs);
  }

  checkOther(bytes: Uint8Array, ip: number, timeNs: number): void {
    const headers = readHeaders(bytes, ip);
    if (headers === undefined || !isRoce(headers)) return;
    this.#judge(headers, undefined, () => `a packet of ${bytes.length - ip} bytes`, timeNs);
  }

  results(): PassiveCheckResult[] {
    return PASSIVE_RULES.map((rule) => {
      const broken = this.#broken.get(rule);
      if (broken !== undefined) return { rule, verdict: 'fail', reason: broken };
      if ((this.#looked.get(rule) ?? 0) > 0) return { rule, verdict: 'pass', reason: '' };
      return { rule, verdict: 'inconclusive', reason: 'no packet that it applies to was seen' };
    });
  }

  #judge(headers: Headers, sighting: Sighting | undefined, words: () => string, timeNs: number): void {
    const end = findIcrcEnd(headers);
    const packet = {
      ...{ headers, sighting, context: this.#context, firstPort: this.#portOf(headers, sighting) },
      ...{ icrcEnd: end ?? headers.udp + headers.udpLength, icrcRight: end !== undefined },
    };
    this.#count++;
    for (const { rule, concerns, broken } of PASSIVE_CHECKS) {
      if (!concerns(packet)) continue;
      this.#looked.set(rule, (this.#looked.get(rule) ?? 0) + 1);
      const wrong = broken(packet);
      if (wrong === undefined || this.#broken.has(rule)) continue;
      this.#broken.set(rule, `${wrong}, in packet ${this.#count} of the device (at ${timeNs} ns): ${words()}`);
    }
  }

  #portOf({ sourcePort }: Headers, sighting: Sighting | undefined): number {
    if (sighting === undefined) return sourcePort;
    const first = this.#ports.get(sighting.destQpn);
    if (first === undefined) this.#ports.set(sighting.destQpn, sourcePort);
    return first ?? sourcePort;
  }
}

/** To the port of RoCE, or with a right ICRC where the datagram ends: nothing else ends so by chance. */
const isRoce = (headers: Headers): boolean =>
  (headers.protocol === 17 && headers.destPort === 4791) || findIcrcEnd(headers) !== undefined;
