import { describe, expect, it } from 'vitest';
import {
  type CmReq,
  cmReqService,
  cmTransportFields,
  hasAlternatePath,
  readCmReq,
  readIpCmHeader,
} from '../../../packets/cm/index.ts';
import { CM_VECTORS } from '../../vectors/cm-mads.ts';
import { checkRoundTrip, decode, encode, madBytes, viewOf } from './harness.ts';
import { expectTshark, vectorsOf } from './tshark.ts';

describe('REQ', () => {
  it('of the captures reads as Wireshark prints it', () => {
    const vectors = vectorsOf('cm.req.localqpn');
    expect(vectors.length).toBeGreaterThan(3);
    for (const vector of vectors) {
      const req = readCmReq(viewOf(madBytes(vector.mad)), 0);
      const { primaryPath: primary, alternatePath: alternate } = req;
      expectTshark(vector, 'cm.req', {
        '': req.localCommId,
        serviceid: req.serviceId,
        localcaguid: req.localCaGuid,
        localqkey: req.localQkey,
        localqpn: req.localQpn,
        responderres: req.responderResources,
        localeecn: req.localEecn,
        initdepth: req.initiatorDepth,
        remoteeecn: req.remoteEecn,
        remoteresptout: req.remoteCmResponseTimeout,
        transpsvctype: req.transportServiceType,
        e2eflowctrl: req.endToEndFlowControl,
        startpsn: req.startingPsn,
        localresptout: req.localCmResponseTimeout,
        retrcount: req.retryCount,
        pkey: req.partitionKey,
        pppmtu: req.pathMtu,
        rdcexist: req.rdcExists,
        rnrretrcount: req.rnrRetryCount,
        maxcmretr: req.maxCmRetries,
        srq: req.srq,
        ext_transport: req.extendedTransportType,
        prim_locallid: primary.localLid,
        prim_remotelid: primary.remoteLid,
        prim_localgid_ipv4: primary.localGid.toString(),
        prim_remotegid_ipv4: primary.remoteGid.toString(),
        // Wireshark 4.0 gives the upper 12 bits of the label, and bits of the label's first byte as the rate.
        prim_flowlabel: primary.flowLabel >> 8,
        prim_pktrate: (primary.flowLabel >> 12) & 0x3f,
        prim_tfcclass: primary.trafficClass,
        prim_hoplim: primary.hopLimit,
        prim_sl: primary.serviceLevel,
        prim_subnetlocal: primary.subnetLocal,
        prim_localacktout: primary.localAckTimeout,
        alt_locallid: alternate.localLid,
        alt_remotelid: alternate.remoteLid,
        alt_flowlabel: alternate.flowLabel,
        alt_pktrate: alternate.packetRate,
        alt_tfcclass: alternate.trafficClass,
        alt_hoplim: alternate.hopLimit,
        alt_sl: alternate.serviceLevel,
        alt_subnetlocal: alternate.subnetLocal,
        alt_localacktout: alternate.localAckTimeout,
      });
      expect(alternate.localGid.toString()).toBe('::');
      const ip = readIpCmHeader(viewOf(req.privateData), 0);
      expectTshark(vector, 'cm.req.ip_cm', {
        ipv: ip?.source.version ?? 0,
        sport: ip?.sourcePort ?? 0,
        sip4: String(ip?.source),
        dip4: String(ip?.destination),
      });
    }
  });

  it('of rdma_rxe uses permissive LIDs, the default rate, hop limit 64 and no subnet-local bit', () => {
    for (const vector of vectorsOf('cm.req.localqpn')) {
      expect(readCmReq(viewOf(madBytes(vector.mad)), 0).primaryPath).toMatchObject({
        localLid: 0xff_ff,
        remoteLid: 0xff_ff,
        packetRate: 0,
        hopLimit: 64,
        subnetLocal: 0,
      });
    }
  });

  it('survives the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('REQ', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('cuts numbers to the width of their field without touching the neighbours', () => {
    const { body } = decode(madBytes(CM_VECTORS[0]?.mad ?? ''), 'REQ');
    const req = body as CmReq;
    const wide = decode(
      encode({ kind: 'REQ', body: { ...req, retryCount: 0xff, pathMtu: 0xf3, localQpn: 0x1_00_00_11 } }),
      'REQ',
    );
    expect(wide.body).toEqual({ ...req, retryCount: 7, pathMtu: 3, localQpn: 0x11 });
  });

  it('takes shorter private data, fills up with zeros, and refuses more than 92 bytes (CM-27)', () => {
    const { body } = decode(madBytes(CM_VECTORS[0]?.mad ?? ''), 'REQ');
    const req = body as CmReq;
    const short = decode(encode({ kind: 'REQ', body: { ...req, privateData: Uint8Array.of(1, 2, 3) } }), 'REQ')
      .body as CmReq;
    expect([...short.privateData.subarray(0, 5)]).toEqual([1, 2, 3, 0, 0]);
    expect(() => encode({ kind: 'REQ', body: { ...req, privateData: new Uint8Array(93) } })).toThrow(
      'private data of REQ holds 92 bytes, not 93',
    );
  });

  it('says which service it asks for, and whether it names a second path', () => {
    const req = decode(madBytes(CM_VECTORS[0]?.mad ?? ''), 'REQ').body as CmReq;
    expect([cmReqService(req), hasAlternatePath(req)]).toEqual(['rc', false]);
    for (const service of ['rc', 'uc', 'xrc'] as const) {
      const asked = decode(encode({ kind: 'REQ', body: { ...req, ...cmTransportFields(service) } }), 'REQ')
        .body as CmReq;
      expect(cmReqService(asked)).toBe(service);
    }
    expect(cmReqService({ transportServiceType: 2, extendedTransportType: 0 })).toBeUndefined();
    expect(cmReqService({ transportServiceType: 3, extendedTransportType: 2 })).toBeUndefined();
    expect(hasAlternatePath({ ...req, alternatePath: req.primaryPath })).toBe(true);
  });
});
