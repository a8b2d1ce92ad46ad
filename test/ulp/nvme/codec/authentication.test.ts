/**
 * Goal: messages of authentication lie in memory as the standard has them, and as struct nvmf_auth_... of Linux.
 * Method: the bytes by hand; every field has a value of its own.
 */
import { expect, it } from 'vitest';
import {
  AUTH_FAILURE,
  AUTH_HEADER,
  AUTH_NEGOTIATE,
  DHCHAP_CHALLENGE,
  DHCHAP_REPLY,
  DHCHAP_SUCCESS1,
  DHCHAP_SUCCESS2,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { fromHex, toHex } from '../../../packets/support.ts';

const OF_DHCHAP = { type: 1, transaction: 0x12_34 };
/** A list has room for 30. */
const padded = (numbers: readonly number[]): number[] => Array.from({ length: 30 }, (_, i) => numbers[i] ?? 0);
const PROTOCOL = { authid: 1, halen: 3, dhlen: 2, hashes: padded([3, 2, 1]), groups: padded([5, 4]) };

it.each([
  // type | id | 0 0 | transaction, little-endian
  ['header', AUTH_HEADER, { type: 1, id: 2, transaction: 0x12_34 }, '01 02 0000 3412'],
  [
    'AUTH_Negotiate',
    AUTH_NEGOTIATE,
    { type: 0, id: 0, transaction: 0x12_34, secureChannel: 9, napd: 1, protocol: PROTOCOL },
    `00 00 0000 3412 09 01 01 00 03 02 030201 ${'00'.repeat(27)} 0504 ${'00'.repeat(28)}`,
  ],
  [
    'DH-HMAC-CHAP_Challenge',
    DHCHAP_CHALLENGE,
    { ...OF_DHCHAP, id: 1, hl: 32, hash: 2, group: 4, dhvlen: 0x02_01, sequence: 0x44_33_22_11 },
    '01 01 0000 3412 20 00 02 04 0102 11223344',
  ],
  [
    'DH-HMAC-CHAP_Reply',
    DHCHAP_REPLY,
    { ...OF_DHCHAP, id: 2, hl: 48, challenged: true, dhvlen: 0x02_01, sequence: 0x44_33_22_11 },
    '01 02 0000 3412 30 00 01 00 0102 11223344',
  ],
  [
    'DH-HMAC-CHAP_Success1',
    DHCHAP_SUCCESS1,
    { ...OF_DHCHAP, id: 3, hl: 64, responds: true },
    `01 03 0000 3412 40 00 01 ${'00'.repeat(7)}`,
  ],
  ['DH-HMAC-CHAP_Success2', DHCHAP_SUCCESS2, { ...OF_DHCHAP, id: 4 }, `01 04 0000 3412 ${'00'.repeat(10)}`],
  [
    'AUTH_Failure1',
    AUTH_FAILURE,
    { type: 0, id: 0xf1, transaction: 0x12_34, reason: 1, explanation: 5 },
    '00 f1 0000 3412 01 05',
  ],
])('%s', (_, layout, values, hex) => {
  expect(toHex(layout.encode(values as never))).toBe(hex.replaceAll(' ', ''));
  expect(layout.read(fromHex(hex))).toMatchObject(values);
});
