/** Goal: kinds of addresses end where their prefixes do. Method: the first and last of each, and their neighbours. */
import { expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../../packets/address.ts';
import {
  isGroup,
  isLimitedBroadcast,
  isLinkLocal,
  isUnicast,
  isUnspecified,
} from '../../../src/device/host/address-kinds.ts';

const those = (is: (ip: IpAddress) => boolean, texts: readonly string[]) =>
  texts.filter((text) => is(IpAddress.parse(text)));

it('link-local is fe80::/10', () => {
  const texts = ['fe7f::1', 'fe80::1', 'febf::1', 'fec0::1', '169.254.0.1'];
  expect(those(isLinkLocal, texts)).toEqual(['fe80::1', 'febf::1']);
});

it('unspecified is all zeros, the limited broadcast all ones', () => {
  const texts = ['0.0.0.0', '0.0.0.1', '::', '::1', '1::', '255.255.255.255', '255.255.255.254', 'ffff::ffff:ffff'];
  expect(those(isUnspecified, texts)).toEqual(['0.0.0.0', '::']);
  expect(those(isLimitedBroadcast, texts)).toEqual(['255.255.255.255']);
});

it('a MAC is of a group, of one station, or of nobody', () => {
  const kinds = ['01:00:5e:00:00:01', 'ff:ff:ff:ff:ff:ff', '02:00:00:00:00:01', '00:00:00:00:00:00'].map((text) => {
    const mac = parseMac(text);
    return [isGroup(mac), isUnicast(mac)];
  });
  expect(kinds).toEqual([
    [true, false],
    [true, false],
    [false, true],
    [false, false],
  ]);
});
