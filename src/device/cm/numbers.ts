/**
 * Values both sides of a connection start from: defaults of the tunables, path MTU codes, and the source port for a
 * flow label. Owns constants and their conversions only.
 */
import { IpAddress } from '../../../packets/address.ts';
import { RdmaPortSpace, rdmaServiceId } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import { sourcePortOfFlowLabel } from '../../../packets/flow-label.ts';
import type { Random } from '../../../transport/random.ts';
import type { PathTraits } from '../options.ts';

/** READs and atomics outstanding, in either direction. */
export const DEFAULT_DEPTH = 16;
/** What a program that asks for 0 gets (rdma:ucma.c#max_backlog). */
export const DEFAULT_BACKLOG = 1024;
/** 15 as in rdma_cm; REQ is repeated every 4.096 us * 2^20, so a dead peer shows after a minute. */
export const DEFAULT_RETRY = 7;
export const DEFAULT_RNR_TIMER = 12;
/** 4.096 us * 2^17 is 0.54 s: long enough for an emulated peer, short enough to notice a loss. */
export const DEFAULT_ACK_TIMEOUT = 17;

/** Checks the tunables that REQ and REP do not carry. @throws RoceError ERR_ROCE_ARGUMENT */
export function checkTunables(tunables: {
  readonly minRnrTimer?: number;
  readonly ackTimeout?: number;
  readonly maxRnrRetry?: number;
}): void {
  checkWhole('minRnrTimer', tunables.minRnrTimer, 31);
  checkWhole('ackTimeout', tunables.ackTimeout, 31);
  checkWhole('maxRnrRetry', tunables.maxRnrRetry, 7);
}

function checkWhole(name: string, value: number | undefined, max: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= max)) return;
  throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from 0 to ${max}, not ${value}`);
}

/** The service id of a port in a port space. @throws RoceError ERR_ROCE_ARGUMENT for what is neither */
export function serviceIdOf(spaces: ReadonlyMap<string, bigint>, space: string, port: number): bigint {
  const base = spaces.get(space);
  if (base === undefined) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `a port space is one of ${[...spaces.keys()].join(', ')}, not ${space}`);
  }
  return rdmaServiceId(base, port);
}

/** A random source port from the dynamic range. */
export function ephemeralPort(random: Random): number {
  return 0xc0_00 | (random.u32() & 0x3f_ff);
}

export function addressOf(value: IpAddress | string): IpAddress;
export function addressOf(value: IpAddress | string | undefined): IpAddress | undefined;
export function addressOf(value: IpAddress | string | undefined): IpAddress | undefined {
  return typeof value === 'string' ? IpAddress.parse(value) : value;
}

/** 256 is 1, 4096 is 5. */
export function mtuCode(mtu: number): number {
  return Math.log2(mtu) - MTU_CODE_BASE;
}

export function mtuOfCode(code: number): number {
  return 2 ** (code + MTU_CODE_BASE);
}

/**
 * `chosen` with the source port of the connection's flow label, where none was chosen. A generated label gives the port
 * and is not put into headers, as with rdma_rxe (ref:rxe#5); label 0 gives none.
 */
export function withPortOf(flowLabel: number, chosen: PathTraits): PathTraits {
  if (flowLabel === 0 || chosen.sourcePort !== undefined) return chosen;
  return { ...chosen, sourcePort: sourcePortOfFlowLabel(flowLabel) };
}

const MTU_CODE_BASE = 7;

export const CONNECTION_SPACES: ReadonlyMap<string, bigint> = new Map([
  ['tcp', RdmaPortSpace.Tcp],
  ['ib', RdmaPortSpace.Ib],
]);
export const DATAGRAM_SPACES: ReadonlyMap<string, bigint> = new Map([
  ['udp', RdmaPortSpace.Udp],
  ['ipoib', RdmaPortSpace.IpoIb],
  ['ib', RdmaPortSpace.Ib],
]);
