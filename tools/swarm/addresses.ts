/** Addresses of a run: hosts of these numbers, the attacker's among them. */
import { IpAddress } from 'rocev2';
import { type MacAddress, parseMac } from 'rocev2/packets';

export const ATTACKER_MAC = parseMac('02:66:66:66:66:66');

/** The number of the attacker's own address. */
export const ATTACKER = 66;

export const addressOf = (n: number, version: 4 | 6): IpAddress =>
  IpAddress.parse(version === 4 ? `10.0.0.${n}` : `fd00::${n}`);

export const macOf = (n: number): MacAddress => Uint8Array.of(2, 0, 0, 0, 0, n);
