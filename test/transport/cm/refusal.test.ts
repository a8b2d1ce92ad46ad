import { describe, expect, it } from 'vitest';
import { CmRejReason, cmRejReasonName } from '../../../packets/cm/index.ts';
import { codeToNs } from '../../../transport/cm/index.ts';
import { NONE, OUR_GUID, PEER_GUID, PEER_ID, PEER_TID, reqBody, Script, STRANGER, T } from './harness.ts';

const guidBytes = (guid: bigint) => {
  const info = new Uint8Array(8);
  new DataView(info.buffer).setBigUint64(0, guid);
  return info;
};

describe('rejecting', () => {
  it('a request sends REJ with reason, private data and no id of ours, and again when the request is repeated', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.reject(s.now, id, 28, Uint8Array.of(1, 2), Uint8Array.of(3));
    const rej = s.sentOne('REJ');
    expect(rej.transactionId).toBe(PEER_TID);
    expect(rej.body).toMatchObject({
      localCommId: 0,
      remoteCommId: PEER_ID,
      messageRejected: 0,
      reason: 28,
      infoLength: 1,
    });
    expect([...rej.body.privateData.subarray(0, 3)]).toEqual([1, 2, 0]);
    expect(s.receive({ kind: 'REQ', body: reqBody() })).toBe('Duplicate');
    expect(s.sentOne('REJ').bytes).toEqual(rej.bytes);
    expect(s.eventTypes()).toEqual([]);
    s.advance(5 * T);
    expect(s.cm.size).toBe(0);
  });

  it('a request after MRA names our id', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.sendMra(s.now, id, 16, true);
    s.cm.reject(s.now, id);
    expect(s.sentOne('REJ').body).toMatchObject({ localCommId: id, messageRejected: 0, reason: 28 });
  });

  it('a response sends REJ with both ids, and again when the REP is repeated', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rep(id));
    s.event('connect-response');
    s.cm.reject(s.now, id, 3);
    const rej = s.sentOne('REJ');
    expect(rej.body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, messageRejected: 1, reason: 3 });
    expect(s.receive(s.rep(id))).toBe('Duplicate');
    expect(s.sentOne('REJ').bytes).toEqual(rej.bytes);
    s.advance(5 * T);
    expect(s.cm.size).toBe(0);
    expect(s.receive(s.rep(id))).toBe('UnknownId');
    expect(s.sentKinds()).toEqual([]);
  });

  it('leaves the peer free to try again at once on the same queue pair', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.reject(s.now, id);
    s.sent();
    expect(s.receive({ kind: 'REQ', body: reqBody({ localCommId: 0x2222 }) })).toBe('Ok');
    expect(s.eventTypes()).toEqual(['connect-request']);
  });
});

describe('being rejected', () => {
  it('ends an attempt after REQ, whatever the reason', () => {
    const s = new Script();
    const id = s.connecting();
    const privateData = Uint8Array.of(9);
    const info = Uint8Array.of(1, 2, 3);
    const rej = s.rej(id, { localCommId: 0, messageRejected: 0, reason: 8, infoLength: 2, info, privateData });
    expect(s.receive(rej)).toBe('Ok');
    const event = s.event('rejected');
    expect(event).toMatchObject({ id, reason: 8 });
    expect([...event.info]).toEqual([1, 2]);
    expect(event.privateData[0]).toBe(9);
    expect(s.cm.size).toBe(0);
    expect(s.cm.pollTimeout()).toBe(Number.POSITIVE_INFINITY);
  });

  it.each(Object.entries(CmRejReason))('for reason %s is reported as reason %i', (name, reason) => {
    const s = new Script();
    const id = s.connecting();
    const info = Uint8Array.of(0xa1, 0xa2);
    expect(s.receive(s.rej(id, { localCommId: 0, messageRejected: 0, reason, infoLength: 2, info }))).toBe('Ok');
    const event = s.event('rejected');
    expect([cmRejReasonName(event.reason), [...event.info]]).toEqual([name, [0xa1, 0xa2]]);
    // Old packets of a stale connection may be about; of all others nothing is left.
    expect(s.cm.state(id)).toBe(reason === CmRejReason.StaleConnection ? 'timewait' : undefined);
  });

  it('does not believe the information length', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rej(id, { messageRejected: 0, infoLength: 127 }));
    expect(s.event('rejected').info.length).toBe(72);
  });

  it('as stale keeps the queue pair out of use for TIMEWAIT', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rej(id, { messageRejected: 0, reason: 10 }));
    expect(s.event('rejected')).toMatchObject({ id, reason: 10 });
    expect(s.cm.state(id)).toBe('timewait');
    s.advance(codeToNs(17));
    expect(s.eventTypes()).toEqual(['timewait-exit']);
  });

  it('ends a passive attempt after REP', () => {
    const s = new Script();
    const id = s.accepted();
    expect(s.receive(s.rej(id, { messageRejected: 1 }))).toBe('Ok');
    expect(s.event('rejected')).toMatchObject({ id, reason: 28 });
    expect(s.cm.size).toBe(0);
  });

  it('ends an active attempt after REP, with TIMEWAIT: both queue pairs know each other', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rep(id));
    s.events();
    expect(s.receive(s.rej(id, { reason: 4 }))).toBe('Ok');
    expect(s.event('rejected')).toMatchObject({ id, reason: 4 });
    expect(s.cm.state(id)).toBe('timewait');
  });

  it('ends an established connection whose RTU never arrived', () => {
    const s = new Script();
    const id = s.connected();
    expect(s.receive(s.rej(id, { reason: 4, infoLength: 8, info: guidBytes(PEER_GUID) }))).toBe('Ok');
    expect(s.event('disconnected')).toMatchObject({ id, cause: 'rej' });
  });

  it('by a peer that gave up before it learned our id ends the half-open attempt (REJ 4 with the GUID)', () => {
    for (const accepted of [false, true]) {
      const s = new Script();
      const id = accepted ? s.accepted() : s.requested();
      const rej = s.rej(0, { reason: 4, infoLength: 8, info: guidBytes(PEER_GUID) });
      expect(s.receive(rej, 1n, { source: STRANGER })).toBe('UnknownId');
      expect(s.receive(rej)).toBe('Ok');
      expect(s.event('rejected')).toMatchObject({ id, reason: 4 });
      expect(s.cm.size).toBe(0);
      expect(s.cm.pendingCount).toBe(0);
    }
  });

  it('cannot be done by a spoofed REJ (SEC-14)', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(s.rej(id, { localCommId: 5 }))).toBe('UnknownId');
    expect(s.receive(s.rej(id, { messageRejected: 0 }))).toBe('UnknownId');
    expect(s.receive(s.rej(id + 1))).toBe('UnknownId');
    expect(s.receive(s.rej(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    // A REJ 4 without our id ends half-open attempts only.
    expect(s.receive(s.rej(0, { reason: 4, infoLength: 8, info: guidBytes(PEER_GUID) }))).toBe('UnknownId');
    expect(s.receive(s.rej(0, { reason: 4, infoLength: 7, info: guidBytes(PEER_GUID) }))).toBe('UnknownId');
    expect(s.receive(s.rej(0, { reason: 4, infoLength: 8, info: guidBytes(OUR_GUID) }))).toBe('UnknownId');
    expect(s.cm.state(id)).toBe('established');
    expect(s.eventTypes()).toEqual([]);
    expect(s.sentKinds()).toEqual([]);
  });
});

describe('MRA', () => {
  it('makes the active side wait longer, once, however many come (SEC-14)', () => {
    const s = new Script();
    const id = s.connecting();
    expect(s.receive(s.mra(id))).toBe('Ok');
    expect(s.event('mra')).toMatchObject({ id, serviceTimeout: 16 });
    expect(s.cm.pollTimeout()).toBe(s.now + codeToNs(16) + T);
    s.advance(T);
    const deadline = s.cm.pollTimeout();
    expect(s.receive(s.mra(id, { serviceTimeout: 31 }))).toBe('Duplicate');
    expect(s.cm.pollTimeout()).toBe(deadline);
    expect(s.sentKinds()).toEqual([]);
    expect(s.receive(s.rep(id))).toBe('Ok');
    expect(s.eventTypes()).toEqual(['connect-response']);
  });

  it('does not slow down what comes later', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.mra(id));
    s.receive(s.rep(id));
    s.cm.ready(s.now, id);
    s.cm.disconnect(s.now, id);
    expect(s.cm.pollTimeout()).toBe(s.now + T);
  });

  it('does not hold a connection for hours (SEC-14)', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.mra(id, { serviceTimeout: 31 }));
    expect(s.cm.pollTimeout()).toBe(s.now + codeToNs(24) + T);
  });

  it('makes the passive side wait longer for RTU', () => {
    const s = new Script();
    const id = s.accepted();
    expect(s.receive(s.mra(id, { messageMraed: 1 }))).toBe('Ok');
    s.advance(codeToNs(16));
    expect(s.sentKinds()).toEqual([]);
    s.advance(T);
    expect(s.sentKinds()).toEqual(['REP']);
    expect(s.receive(s.rtu(id))).toBe('Ok');
    expect(s.eventTypes()).toEqual(['mra', 'established']);
  });

  it('for the wrong message, with foreign ids or from elsewhere changes nothing', () => {
    const s = new Script();
    const id = s.connecting();
    const deadline = s.cm.pollTimeout();
    expect(s.receive(s.mra(id, { messageMraed: 1 }))).toBe('UnknownId');
    expect(s.receive(s.mra(id, { messageMraed: 3 }))).toBe('UnknownId');
    expect(s.receive(s.mra(id + 1))).toBe('UnknownId');
    expect(s.receive(s.mra(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.cm.pollTimeout()).toBe(deadline);
    const passive = new Script();
    const other = passive.accepted();
    expect(passive.receive(passive.mra(other, { messageMraed: 1, localCommId: 5 }))).toBe('UnknownId');
    expect(passive.receive(passive.mra(other, { messageMraed: 0 }))).toBe('UnknownId');
  });

  it('is not expected once the connection stands', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(s.mra(id, { messageMraed: 1 }))).toBe('UnexpectedState');
    expect(s.eventTypes()).toEqual([]);
  });
});

describe('the limits of private data (CM-27)', () => {
  it('are the mistake of the caller, and nothing has happened when they are exceeded', () => {
    const s = new Script();
    const id = s.requested();
    expect(() => s.cm.reject(s.now, id, 28, new Uint8Array(149))).toThrow('148 bytes, not 149');
    expect(() => s.cm.reject(s.now, id, 28, NONE, new Uint8Array(73))).toThrow('72 bytes, not 73');
    expect(s.cm.state(id)).toBe('req-rcvd');
    expect(s.sentKinds()).toEqual([]);
    s.cm.reject(s.now, id, 28, new Uint8Array(148).fill(1));
    expect(s.sentOne('REJ').body.privateData).toEqual(new Uint8Array(148).fill(1));
  });
});
