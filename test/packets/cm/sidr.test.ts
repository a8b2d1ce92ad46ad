import { describe, expect, it } from 'vitest';
import {
  CmSidrStatus,
  cmSidrStatusName,
  isRdmaServiceId,
  RdmaPortSpace,
  readCmSidrRep,
  readCmSidrReq,
  readIpCmHeader,
} from '../../../packets/cm/index.ts';
import { CM_VECTORS } from '../../vectors/cm-mads.ts';
import { checkRoundTrip, encode, madBytes, viewOf } from './harness.ts';

const ofAttribute = (id: string) => CM_VECTORS.filter((vector) => vector.tshark.includes(`mad.attributeid=${id}`));

describe('SIDR_REQ and SIDR_REP', () => {
  it('of the captured udaddy run ask for a UDP service and get queue pair 20 and the RDMA Q_Key', () => {
    const requests = ofAttribute('0x0017');
    const replies = ofAttribute('0x0018');
    expect(requests.length).toBe(2);
    expect(replies.length).toBe(2);
    requests.forEach((vector, i) => {
      const req = readCmSidrReq(viewOf(madBytes(vector.mad)), 0);
      const rep = readCmSidrRep(viewOf(madBytes(replies[i]?.mad ?? '')), 0);
      expect(req.partitionKey).toBe(0xff_ff);
      expect(isRdmaServiceId(req.serviceId)).toBe(true);
      expect(req.serviceId & ~0xff_ffn).toBe(RdmaPortSpace.Udp);
      const ip = readIpCmHeader(viewOf(req.privateData), 0);
      expect(`${ip?.source} ${ip?.destination}`).toBe('10.77.0.2 10.77.0.1');
      expect(rep).toMatchObject({
        requestId: req.requestId,
        serviceId: req.serviceId,
        status: CmSidrStatus.Success,
        qkey: 0x0123_4567,
        qpn: 20,
        infoLength: 0,
      });
    });
  });

  it('survive the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('SIDR_REQ', (actual, expected) => expect(actual).toEqual(expected));
    checkRoundTrip('SIDR_REP', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('carry at most 216 and 136 bytes of private data', () => {
    const req = { requestId: 1, partitionKey: 2, serviceId: 3n, privateData: new Uint8Array(217) };
    expect(() => encode({ kind: 'SIDR_REQ', body: req })).toThrow('216 bytes, not 217');
    const rep = { requestId: 1, status: 0, infoLength: 0, vendorId: 0, qpn: 0, serviceId: 0n, qkey: 0 };
    expect(() =>
      encode({ kind: 'SIDR_REP', body: { ...rep, info: new Uint8Array(0), privateData: new Uint8Array(137) } }),
    ).toThrow('136 bytes, not 137');
  });

  it('have a name for every status', () => {
    expect(Object.values(CmSidrStatus).map(cmSidrStatusName)).toEqual(Object.keys(CmSidrStatus));
    expect(cmSidrStatusName(99)).toBe('status 99');
  });
});
