/**
 * Goal: LAP and APR change nothing but what the two sides agree on. Method: the scripted peer, in both roles; a Linux
 * peer never answers (it drops both messages on RoCE), so silence is one of the cases.
 */
import { describe, expect, it } from 'vitest';
import { type CmMessage, type CmPath, NO_PATH } from '../../../packets/cm/index.ts';
import { codeToNs } from '../../../transport/cm/index.ts';
import { NONE, OUR_QPN, PEER, PEER_ID, PEER_QPN, Script, STRANGER, T, US } from './harness.ts';

const PATH = { local: US, remote: PEER, flowLabel: 0xabcde, trafficClass: 8, hopLimit: 63, ackTimeout: 15 };
const WIRE: CmPath = { ...NO_PATH, localGid: PEER, remoteGid: US, flowLabel: 7, hopLimit: 9, localAckTimeout: 14 };

const lap = (id: number, changes: object = {}): CmMessage => ({
  kind: 'LAP',
  body: {
    localCommId: PEER_ID,
    remoteCommId: id,
    remoteQpn: OUR_QPN,
    remoteCmResponseTimeout: 20,
    alternatePath: WIRE,
    privateData: Uint8Array.of(5),
    ...changes,
  },
});

const apr = (id: number, changes: object = {}): CmMessage => ({
  kind: 'APR',
  body: {
    localCommId: PEER_ID,
    remoteCommId: id,
    infoLength: 0,
    status: 0,
    info: NONE,
    privateData: Uint8Array.of(6),
    ...changes,
  },
});

describe('a LAP of the peer', () => {
  it('is reported with its path and answered by the application, with the transaction it came with', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(lap(id), 0x61n)).toBe('Ok');
    const event = s.event('alternate-path-request');
    expect(event.path).toMatchObject({ flowLabel: 7, hopLimit: 9, localAckTimeout: 14 });
    expect(event.path.remoteGid.equals(US)).toBe(true);
    expect(event.privateData[0]).toBe(5);
    s.cm.answerAlternatePath(s.now, id, 0, NONE, Uint8Array.of(7));
    const sent = s.sentOne('APR');
    expect(sent.transactionId).toBe(0x61n);
    expect(sent.body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, status: 0, infoLength: 0 });
    expect(sent.body.privateData[0]).toBe(7);
    expect(s.cm.state(id)).toBe('established');
  });

  it('is absorbed when it comes again before the answer, and answered the same after it', () => {
    const s = new Script();
    const id = s.established();
    s.receive(lap(id), 0x61n);
    expect(s.receive(lap(id), 0x61n)).toBe('Duplicate');
    expect([s.sentKinds(), s.eventTypes()]).toEqual([[], ['alternate-path-request']]);
    s.cm.answerAlternatePath(s.now, id, 3, Uint8Array.of(1, 2));
    const first = s.sentOne('APR');
    expect(first.body).toMatchObject({ status: 3, infoLength: 2 });
    expect(s.receive(lap(id), 0x61n)).toBe('Duplicate');
    expect(s.sentOne('APR').bytes).toEqual(first.bytes);
    // ib_core gives the next one the same transaction id: another path makes it another LAP.
    expect(s.receive(lap(id, { alternatePath: { ...WIRE, flowLabel: 8 } }), 0x61n)).toBe('Ok');
    expect(s.eventTypes()).toEqual(['alternate-path-request']);
  });

  it('is put off by MRA, at once or when it is repeated', () => {
    const s = new Script();
    const id = s.established();
    expect(() => s.cm.sendMra(s.now, id, 16)).toThrow('nothing of connection');
    s.receive(lap(id), 0x61n);
    s.cm.sendMra(s.now, id, 16, true);
    expect(s.sentKinds()).toEqual([]);
    expect(s.receive(lap(id), 0x61n)).toBe('Duplicate');
    expect(s.sentOne('MRA').body).toMatchObject({ localCommId: id, messageMraed: 2, serviceTimeout: 16 });
    s.cm.sendMra(s.now, id, 17);
    expect(s.sentOne('MRA').body.serviceTimeout).toBe(17);
    s.cm.answerAlternatePath(s.now, id, 0);
    expect(s.sentKinds()).toEqual(['APR']);
  });

  it('draws status 6 for another queue pair, and nothing at all from anybody else (SEC-14)', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(lap(id, { remoteQpn: 5 }), 0x62n)).toBe('WrongQpn');
    const sent = s.sentOne('APR');
    expect([sent.transactionId, sent.body.status]).toEqual([0x62n, 6]);
    expect(s.receive(lap(id + 1))).toBe('UnknownId');
    expect(s.receive(lap(id, { localCommId: 5 }))).toBe('UnknownId');
    expect(s.receive(lap(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    expect([s.sentKinds(), s.eventTypes(), s.cm.state(id)]).toEqual([[], [], 'established']);
    const half = new Script();
    expect(half.receive(lap(half.accepted()))).toBe('UnexpectedState');
  });

  it('is one at a time: another one does nothing before the answer, nor while one of ours is under way', () => {
    const other = (id: number) => lap(id, { alternatePath: { ...WIRE, flowLabel: 8 } });
    const s = new Script();
    const id = s.established();
    s.receive(lap(id), 0x61n);
    expect(s.receive(other(id), 0x62n)).toBe('UnexpectedState');
    expect(s.event('alternate-path-request').path.flowLabel).toBe(7);
    s.cm.answerAlternatePath(s.now, id, 0);
    expect(s.sentOne('APR').transactionId).toBe(0x61n);
    expect(s.receive(other(id), 0x62n)).toBe('Ok');

    const t = new Script();
    const asking = t.connected();
    t.cm.loadAlternatePath(t.now, asking, PATH);
    expect(t.receive(lap(asking), 0x63n)).toBe('UnexpectedState');
    expect([t.sentKinds(), t.eventTypes()]).toEqual([['LAP'], []]);
  });

  it('cannot be answered twice, or when there was none', () => {
    const s = new Script();
    const id = s.established();
    expect(() => s.cm.answerAlternatePath(s.now, id, 0)).toThrow('was not asked');
    s.receive(lap(id));
    expect(() => s.cm.answerAlternatePath(s.now, id, 0, new Uint8Array(73))).toThrow('72 bytes, not 73');
    expect(() => s.cm.answerAlternatePath(s.now, id, 0, NONE, new Uint8Array(149))).toThrow('148 bytes, not 149');
    s.cm.answerAlternatePath(s.now, id, 2);
    expect(() => s.cm.answerAlternatePath(s.now, id, 0)).toThrow('was not asked');
    expect(s.sentKinds()).toEqual(['APR']);
  });
});

describe('a LAP of ours', () => {
  it('names both ids, the queue pair and the path as we see it, and ends with APR', () => {
    const s = new Script();
    const id = s.connected();
    s.cm.loadAlternatePath(s.now, id, PATH, Uint8Array.of(3));
    const { body } = s.sentOne('LAP');
    expect(body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, remoteQpn: PEER_QPN });
    expect(body.alternatePath).toMatchObject({
      localLid: 0xff_ff,
      remoteLid: 0xff_ff,
      flowLabel: 0xabcde,
      trafficClass: 8,
      hopLimit: 63,
      localAckTimeout: 15,
    });
    expect(body.alternatePath.localGid.equals(US) && body.alternatePath.remoteGid.equals(PEER)).toBe(true);
    expect(s.receive(apr(id, { status: 10, infoLength: 1, info: Uint8Array.of(9, 9) }))).toBe('Ok');
    expect(s.event('alternate-path-response')).toMatchObject({ id, status: 10, info: Uint8Array.of(9) });
    expect(s.receive(apr(id))).toBe('UnexpectedState');
    expect(s.cm.pollTimeout()).toBe(Number.POSITIVE_INFINITY);
    s.cm.loadAlternatePath(s.now, id, PATH);
    expect(s.sentKinds()).toEqual(['LAP']);
  });

  it('is repeated in vain against a Linux peer, and the connection stays', () => {
    const s = new Script();
    const id = s.connected();
    s.cm.loadAlternatePath(s.now, id, PATH);
    s.advance(3 * T);
    expect(s.sentKinds()).toEqual(['LAP', 'LAP', 'LAP', 'LAP']);
    s.advance(T);
    expect(s.event('alternate-path-unanswered').id).toBe(id);
    expect([s.sentKinds(), s.cm.state(id), s.cm.pollTimeout()]).toEqual([[], 'established', Number.POSITIVE_INFINITY]);
  });

  it('waits longer after MRA, once', () => {
    const s = new Script();
    const id = s.connected();
    s.cm.loadAlternatePath(s.now, id, PATH);
    s.sent();
    expect(s.receive(s.mra(id, { messageMraed: 2, serviceTimeout: 16 }))).toBe('Ok');
    expect(s.event('mra').serviceTimeout).toBe(16);
    expect(s.receive(s.mra(id, { messageMraed: 2, serviceTimeout: 16 }))).toBe('Duplicate');
    s.advance(T + codeToNs(16) - 1);
    expect(s.sentKinds()).toEqual([]);
    s.advance(1);
    expect(s.sentKinds()).toEqual(['LAP']);
    expect(s.receive(apr(id))).toBe('Ok');
    expect(s.receive(s.mra(id, { messageMraed: 2 }))).toBe('UnexpectedState');
  });

  it('gives way to the end of the connection', () => {
    const s = new Script();
    const id = s.connected();
    s.cm.loadAlternatePath(s.now, id, PATH);
    s.cm.disconnect(s.now, id);
    expect(s.sentKinds()).toEqual(['LAP', 'DREQ']);
    s.advance(T);
    expect(s.sentKinds()).toEqual(['DREQ']);
    expect(s.receive(apr(id))).toBe('UnexpectedState');
    expect(s.receive(s.drep(id))).toBe('Ok');
    expect(s.eventTypes()).toEqual(['disconnected']);
  });

  it('is one at a time, on a connection that stands, with values that fit', () => {
    const s = new Script();
    const id = s.connecting();
    expect(() => s.cm.loadAlternatePath(s.now, id, PATH)).toThrow('is in state req-sent');
    const t = new Script();
    const up = t.connected();
    expect(() => t.cm.loadAlternatePath(t.now, up, { ...PATH, hopLimit: 256 })).toThrow('hopLimit must be');
    expect(() => t.cm.loadAlternatePath(t.now, up, PATH, new Uint8Array(169))).toThrow('168 bytes of private data');
    expect(t.sentKinds()).toEqual([]);
    t.cm.loadAlternatePath(t.now, up, PATH);
    expect(() => t.cm.loadAlternatePath(t.now, up, PATH)).toThrow('is changing its alternate path');
  });
});
