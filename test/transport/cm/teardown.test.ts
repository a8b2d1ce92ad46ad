import { describe, expect, it } from 'vitest';
import { codeToNs } from '../../../transport/cm/index.ts';
import { OUR_QPN, PEER_ID, PEER_QPN, Script, STRANGER, T } from './harness.ts';

const SIDES = ['passive', 'active'] as const;
const establish = (s: Script, side: (typeof SIDES)[number]) => (side === 'passive' ? s.established() : s.connected());

describe.each(SIDES)('the end of a connection, %s side', (side) => {
  it('comes by DREQ from the peer: DREP with both ids and its transaction, then TIMEWAIT (CM-10)', () => {
    const s = new Script();
    const id = establish(s, side);
    expect(s.receive(s.dreq(id), 0xd1n)).toBe('Ok');
    const drep = s.sentOne('DREP');
    expect(drep.transactionId).toBe(0xd1n);
    expect(drep.body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID });
    expect(s.event('disconnected')).toMatchObject({ id, cause: 'dreq' });
    expect(s.cm.state(id)).toBe('timewait');
    // TIMEWAIT lasts as long as the acknowledge timeout of the path, code 17.
    s.advance(codeToNs(17) - 1);
    expect(s.eventTypes()).toEqual([]);
    s.advance(1);
    expect(s.event('timewait-exit')).toEqual({ type: 'timewait-exit', id });
    expect(s.cm.size).toBe(0);
    expect(s.sentKinds()).toEqual([]);
  });

  it('comes by our DREQ and its DREP', () => {
    const s = new Script();
    const id = establish(s, side);
    s.cm.disconnect(s.now, id, Uint8Array.of(1));
    expect(s.sentOne('DREQ').body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, remoteQpn: PEER_QPN });
    expect(s.eventTypes()).toEqual([]);
    expect(s.receive(s.drep(id))).toBe('Ok');
    expect(s.event('disconnected')).toMatchObject({ id, cause: 'drep' });
    expect(s.receive(s.drep(id))).toBe('Duplicate');
    s.advance(codeToNs(17));
    expect(s.eventTypes()).toEqual(['timewait-exit']);
    expect(s.sentKinds()).toEqual([]);
  });

  it('comes by repeating DREQ in vain', () => {
    const s = new Script();
    const id = establish(s, side);
    s.cm.disconnect(s.now, id);
    s.advance(4 * T);
    expect(s.sentKinds()).toEqual(['DREQ', 'DREQ', 'DREQ', 'DREQ']);
    expect(s.event('disconnected')).toMatchObject({ id, cause: 'timeout' });
    s.advance(codeToNs(17));
    expect(s.eventTypes()).toEqual(['timewait-exit']);
  });

  it('works when both sides ask at the same time', () => {
    const s = new Script();
    const id = establish(s, side);
    s.cm.disconnect(s.now, id);
    expect(s.sentKinds()).toEqual(['DREQ']);
    expect(s.receive(s.dreq(id))).toBe('Ok');
    expect(s.sentKinds()).toEqual(['DREP']);
    expect(s.receive(s.drep(id))).toBe('Duplicate');
    s.advance(10 * T);
    expect(s.sentKinds()).toEqual([]);
    expect(s.eventTypes()).toEqual(['disconnected', 'timewait-exit']);
  });

  it('answers a repeated DREQ in TIMEWAIT with DREP again, with the transaction it came with (CM-13)', () => {
    const s = new Script();
    const id = establish(s, side);
    s.receive(s.dreq(id), 0xd1n);
    s.sent();
    s.events();
    expect(s.receive(s.dreq(id), 0xd2n)).toBe('Duplicate');
    expect(s.sentOne('DREP').transactionId).toBe(0xd2n);
    expect(s.eventTypes()).toEqual([]);
  });

  it('does not come by a DREQ with the wrong queue pair, id or address, nor by DREP (CM-12, CM-14, SEC-14)', () => {
    const s = new Script();
    const id = establish(s, side);
    expect(s.receive(s.dreq(id, { remoteQpn: OUR_QPN + 1 }))).toBe('WrongQpn');
    expect(s.receive(s.dreq(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.receive(s.drep(id))).toBe('UnexpectedState');
    expect(s.receive(s.drep(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.receive(s.drep(id + 1))).toBe('UnknownId');
    expect(s.sentKinds()).toEqual([]);
    // Not ours at all: the sender is told that there is nothing (CM-11).
    expect(s.receive(s.dreq(id, { localCommId: 5 }))).toBe('UnknownId');
    expect(s.sentKinds()).toEqual(['DREP']);
    expect(s.cm.state(id)).toBe('established');
    expect(s.eventTypes()).toEqual([]);
  });

  it('is idempotent for the application', () => {
    const s = new Script();
    const id = establish(s, side);
    s.receive(s.dreq(id));
    s.sent();
    s.cm.disconnect(s.now, id);
    expect(s.sentKinds()).toEqual([]);
    s.advance(codeToNs(17));
    expect(() => s.cm.disconnect(s.now, id)).toThrow('there is no connection');
  });
});

describe('DREQ', () => {
  it('for unknown ids is answered with DREP (CM-11)', () => {
    const s = new Script();
    expect(s.receive(s.dreq(0x5555), 0xd3n)).toBe('UnknownId');
    const drep = s.sentOne('DREP');
    expect(drep.transactionId).toBe(0xd3n);
    expect(drep.body).toMatchObject({ localCommId: 0x5555, remoteCommId: PEER_ID });
    expect(s.cm.size).toBe(0);
  });

  it('ends a passive connection whose RTU was lost', () => {
    const s = new Script();
    const id = s.accepted();
    expect(s.receive(s.dreq(id))).toBe('Ok');
    expect(s.sentKinds()).toEqual(['DREP']);
    expect(s.eventTypes()).toEqual(['disconnected']);
    s.advance(10 * T);
    expect(s.sentKinds()).toEqual([]);
  });

  it('is not expected while an attempt is open on the active side', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rep(id));
    expect(s.receive(s.dreq(id))).toBe('UnexpectedState');
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.state(id)).toBe('rep-rcvd');
  });
});
