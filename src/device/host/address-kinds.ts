/** Kinds of IP and MAC addresses that neighbours are told apart by. Owns nothing but the rules. */
import type { IpAddress, MacAddress } from '../../../packets/address.ts';

/** All zeros. */
export function isUnspecified({ version, w0, w1, w2, w3 }: IpAddress): boolean {
  return version === 4 ? w3 === 0 : (w0 | w1 | w2 | w3) === 0;
}

/** 255.255.255.255. */
export function isLimitedBroadcast({ version, w3 }: IpAddress): boolean {
  return version === 4 && w3 === 0xff_ff_ff_ff;
}

/** fe80::/10. */
export function isLinkLocal({ version, w0 }: IpAddress): boolean {
  return version === 6 && w0 >>> 22 === 0x3fa;
}

/** Multicast and broadcast. */
export function isGroup(mac: MacAddress): boolean {
  return ((mac[0] ?? 0) & 1) !== 0;
}

/** Of one station: no group, and not all zeros. */
export function isUnicast(mac: MacAddress): boolean {
  return !isGroup(mac) && mac.some((byte) => byte !== 0);
}
