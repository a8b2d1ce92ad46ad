import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import {
  IP_CM_HEADER_BYTES,
  ipCmHeaderRule,
  isRdmaServiceId,
  RdmaPortSpace,
  rdmaServiceId,
  readIpCmHeader,
  writeIpCmHeader,
} from '../../../packets/cm/index.ts';

const A4 = IpAddress.parse('10.77.0.2');
const B4 = IpAddress.parse('10.77.0.1');
const A6 = IpAddress.parse('fe80::2');
const B6 = IpAddress.parse('2001:db8::1');

describe('the IP CM header', () => {
  it('has an IPv4 address in the last 4 bytes of its field, the rest being 0', () => {
    const bytes = new Uint8Array(IP_CM_HEADER_BYTES).fill(0xa5);
    writeIpCmHeader(new DataView(bytes.buffer), 0, { sourcePort: 0xbac0, source: A4, destination: B4 });
    const zeros = new Array<number>(12).fill(0);
    expect([...bytes]).toEqual([0, 0x40, 0xba, 0xc0, ...zeros, 10, 77, 0, 2, ...zeros, 10, 77, 0, 1]);
  });

  it('comes back as it was written, over IPv4 and IPv6', () => {
    for (const [source, destination] of [
      [A4, B4],
      [A6, B6],
    ] as const) {
      const view = new DataView(new ArrayBuffer(IP_CM_HEADER_BYTES + 5));
      const header = { sourcePort: 7174, source, destination };
      writeIpCmHeader(view, 5, header);
      expect(readIpCmHeader(view, 5)).toEqual(header);
    }
  });

  it('is refused with another major version or an IP version that is neither 4 nor 6, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 36, maxLength: 36 }), (bytes) => {
        const header = readIpCmHeader(new DataView(bytes.buffer, bytes.byteOffset, 36), 0);
        const [major = 0, ip = 0] = bytes;
        expect(header !== undefined).toBe(major < 0x10 && (ip >> 4 === 4 || ip >> 4 === 6));
      }),
    );
  });

  it('cannot mix IP versions: that is the mistake of the caller', () => {
    const view = new DataView(new ArrayBuffer(IP_CM_HEADER_BYTES));
    expect(() => writeIpCmHeader(view, 0, { sourcePort: 1, source: A4, destination: B6 })).toThrow(
      'differ in IP version',
    );
  });
});

describe('service ids of RDMA CM', () => {
  it('are port space plus port, as rping asks for', () => {
    expect(rdmaServiceId(RdmaPortSpace.Tcp, 7174)).toBe(0x0000_0000_0106_1c06n);
    expect(rdmaServiceId(RdmaPortSpace.Udp, 7174)).toBe(0x0000_0000_0111_1c06n);
    expect(rdmaServiceId(RdmaPortSpace.Ib, 7471)).toBe(0x0000_0000_013f_1d2fn);
    expect(rdmaServiceId(RdmaPortSpace.IpoIb, 1)).toBe(0x0000_0000_0002_0001n);
  });

  it('say whether a header has to be there: always, or with RDMA_PS_IB where it is; other service ids have none', () => {
    const rules = [RdmaPortSpace.Tcp, RdmaPortSpace.Udp, RdmaPortSpace.IpoIb, RdmaPortSpace.Ib].map((space) =>
      ipCmHeaderRule(rdmaServiceId(space, 7)),
    );
    expect(rules).toEqual(['always', 'always', 'always', 'if-there']);
    expect(ipCmHeaderRule(0x1000_0000_0000_0001n)).toBe('never');
    expect(ipCmHeaderRule(0x1_0106_1c06n)).toBe('never');
  });

  it('are told apart from others by their upper 40 bits', () => {
    expect(isRdmaServiceId(0x0106_1c06n)).toBe(true);
    expect(isRdmaServiceId(0x1_0106_1c06n)).toBe(false);
    expect(isRdmaServiceId(0x1000_0000_0000_0001n)).toBe(false);
  });
});
