import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { CmAprStatus, cmAprStatusName, NO_PATH } from '../../../packets/cm/index.ts';
import { checkRoundTrip, encode } from './harness.ts';

describe('LAP and APR', () => {
  it('has the path behind the GIDs in its own order, unlike REQ', () => {
    const bytes = encode({
      kind: 'LAP',
      body: {
        localCommId: 1,
        remoteCommId: 2,
        remoteQpn: 0x0a_0b_0c,
        remoteCmResponseTimeout: 20,
        alternatePath: {
          ...NO_PATH,
          localGid: IpAddress.parse('10.0.0.1'),
          flowLabel: 0xa_bc_de,
          trafficClass: 0x11,
          hopLimit: 0x22,
          packetRate: 0x33,
          serviceLevel: 4,
          subnetLocal: 1,
          localAckTimeout: 17,
        },
        privateData: Uint8Array.of(0x77),
      },
    });
    expect([...bytes.subarray(24 + 12, 24 + 16)]).toEqual([0x0a, 0x0b, 0x0c, 20 << 3]);
    expect([...bytes.subarray(24 + 34, 24 + 40)]).toEqual([0xff, 0xff, 10, 0, 0, 1]);
    expect([...bytes.subarray(24 + 56, 24 + 65)]).toEqual([0xab, 0xcd, 0xe0, 0x11, 0x22, 0x33, 0x48, 17 << 3, 0x77]);
  });

  it('survive the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('LAP', (actual, expected) => expect(actual).toEqual(expected));
    checkRoundTrip('APR', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('puts the status of APR behind the information length', () => {
    const body = {
      localCommId: 1,
      remoteCommId: 2,
      infoLength: 5,
      status: CmAprStatus.Unsupported,
      info: new Uint8Array(0),
    };
    const bytes = encode({ kind: 'APR', body: { ...body, privateData: new Uint8Array(0) } });
    expect([...bytes.subarray(24 + 8, 24 + 12)]).toEqual([5, 2, 0, 0]);
    expect(() => encode({ kind: 'APR', body: { ...body, privateData: new Uint8Array(149) } })).toThrow(
      '148 bytes, not 149',
    );
  });

  it('have a name for every status of APR', () => {
    expect(Object.entries(CmAprStatus).map(([, status]) => cmAprStatusName(status))).toEqual(Object.keys(CmAprStatus));
    expect(cmAprStatusName(99)).toBe('status 99');
  });
});
