import { describe, expect, it } from 'vitest';
import { type CmRep, cmRepQpn, readCmRep } from '../../../packets/cm/index.ts';
import { checkRoundTrip, decode, encode, madBytes, viewOf } from './harness.ts';
import { expectTshark, vectorsOf } from './tshark.ts';

describe('REP', () => {
  it('of the captures reads as Wireshark prints it', () => {
    const vectors = vectorsOf('cm.rep.localqpn');
    expect(vectors.length).toBeGreaterThan(3);
    for (const vector of vectors) {
      const rep = readCmRep(viewOf(madBytes(vector.mad)), 0);
      expectTshark(vector, 'cm.rep', {
        '': rep.localCommId,
        remotecommid: rep.remoteCommId,
        localqkey: rep.localQkey,
        localqpn: rep.localQpn,
        localeecn: rep.localEecn,
        startpsn: rep.startingPsn,
        respres: rep.responderResources,
        initdepth: rep.initiatorDepth,
        tgtackdelay: rep.targetAckDelay,
        failoveracc: rep.failoverAccepted,
        e2eflowctrl: rep.endToEndFlowControl,
        rnrretrcount: rep.rnrRetryCount,
        srq: rep.srq,
        localcaguid: rep.localCaGuid,
      });
    }
  });

  it('survives the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('REP', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('carries at most 196 bytes of private data (CM-27)', () => {
    const rep = decode(madBytes(vectorsOf('cm.rep.localqpn')[0]?.mad ?? ''), 'REP').body as CmRep;
    const full = new Uint8Array(196).fill(7);
    expect(
      (decode(encode({ kind: 'REP', body: { ...rep, privateData: full } }), 'REP').body as CmRep).privateData,
    ).toEqual(full);
    expect(() => encode({ kind: 'REP', body: { ...rep, privateData: new Uint8Array(197) } })).toThrow(
      '196 bytes, not 197',
    );
  });

  it('names its queue pair in the end-to-end context when it is an XRC target', () => {
    const rep = decode(madBytes(vectorsOf('cm.rep.localqpn')[0]?.mad ?? ''), 'REP').body as CmRep;
    const both = { ...rep, localQpn: 5, localEecn: 6 };
    expect([cmRepQpn(both, 'rc'), cmRepQpn(both, 'uc'), cmRepQpn(both, 'xrc')]).toEqual([5, 5, 6]);
  });
});
