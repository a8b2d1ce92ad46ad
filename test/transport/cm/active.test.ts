import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { readIpCmHeader } from '../../../packets/cm/index.ts';
import {
  CONNECT,
  OUR_GUID,
  OUR_QPN,
  PEER,
  PEER_ID,
  PEER_QPN,
  reqBody,
  Script,
  SERVICE,
  STRANGER,
  seededRandom,
  T,
  US,
} from './harness.ts';

describe('a connecting connection manager', () => {
  it('sends REQ, reports REP, and completes with RTU when the application is ready', () => {
    const s = new Script();
    const id = s.cm.connect(s.now, { ...CONNECT, privateData: Uint8Array.of(7, 8) });
    const req = s.sentOne('REQ');
    expect(req.destination).toEqual(PEER);
    expect(req.body).toMatchObject({ localCommId: id, localCaGuid: OUR_GUID, localQpn: OUR_QPN, serviceId: SERVICE });
    const view = new DataView(req.body.privateData.buffer, req.body.privateData.byteOffset);
    // CM-23
    expect(readIpCmHeader(view, 0)).toEqual({ sourcePort: 4242, source: US, destination: PEER });
    expect([...req.body.privateData.subarray(36, 39)]).toEqual([7, 8, 0]);

    expect(s.receive(s.rep(id), req.transactionId)).toBe('Ok');
    const response = s.event('connect-response');
    expect(response.rep).toMatchObject({ localQpn: PEER_QPN, startingPsn: 0x65_43_21 });
    expect([...response.privateData.subarray(0, 4)]).toEqual([1, 2, 3, 0]);
    // CM-16: 4 wanted, 3 allowed; 2 offered, 1 used.
    expect(response).toMatchObject({ initiatorDepth: 3, responderResources: 1 });
    expect(s.sentKinds()).toEqual([]);

    s.cm.ready(s.now, id);
    const rtu = s.sentOne('RTU');
    // CM-18
    expect(rtu.transactionId).toBe(req.transactionId);
    expect(rtu.body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID });
    expect(s.event('established')).toMatchObject({ id, cause: 'ready' });
    s.advance(100 * T);
    expect(s.sentKinds()).toEqual([]);
  });

  it('repeats REQ as often as asked, at the response timeout, then gives up with REJ 4 (CM-21)', () => {
    const s = new Script();
    const id = s.connecting();
    const first = s.now;
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      s.advance(s.cm.pollTimeout() - s.now);
      times.push(s.now - first);
      expect(s.sentKinds()).toEqual(['REQ']);
    }
    expect(times).toEqual([T, 2 * T, 3 * T]);
    s.advance(T);
    expect(s.sentOne('REJ').body).toMatchObject({ localCommId: id, remoteCommId: 0, reason: 4, messageRejected: 2 });
    expect(s.event('unreachable')).toMatchObject({ id, waitingFor: 'REP' });
    expect(s.cm.size).toBe(0);
  });

  it('repeats the very same bytes', () => {
    const s = new Script();
    s.cm.connect(s.now, CONNECT);
    const { bytes } = s.sentOne('REQ');
    s.advance(T);
    expect(s.sentOne('REQ').bytes).toEqual(bytes);
  });

  it('answers a repeated REP with RTU again (CM-06)', () => {
    const s = new Script();
    const id = s.connected();
    expect(s.receive(s.rep(id))).toBe('Duplicate');
    expect(s.sentKinds()).toEqual(['RTU']);
    expect(s.receive(s.rep(id))).toBe('Duplicate');
    expect(s.sentKinds()).toEqual(['RTU']);
    expect(s.eventTypes()).toEqual([]);
  });

  it('absorbs a repeated REP while the application looks at the first, and answers it with MRA once one was sent', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rep(id));
    expect(s.receive(s.rep(id))).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
    s.cm.sendMra(s.now, id, 18);
    expect(s.sentOne('MRA').body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, messageMraed: 1 });
    expect(s.receive(s.rep(id))).toBe('Duplicate');
    expect(s.sentKinds()).toEqual(['MRA']);
    s.cm.ready(s.now, id);
    expect(s.sentKinds()).toEqual(['RTU']);
  });

  it('stays silent for a REP with unknown ids, a foreign id or a foreign address (CM-07)', () => {
    const s = new Script();
    const id = s.connected();
    expect(s.receive(s.rep(id + 1))).toBe('UnknownId');
    expect(s.receive(s.rep(id, { localCommId: 99 }))).toBe('UnknownId');
    expect(s.receive(s.rep(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.state(id)).toBe('established');
  });

  it.each([
    ['GUID and queue pair', 0x9999],
    ['GUID, queue pair and id', PEER_ID],
  ])('is answered by a peer whose %s a stranger has named before it (SEC-14)', (_, localCommId) => {
    const s = new Script();
    const id = s.connecting();
    s.cm.listen(SERVICE, 8);
    const body = reqBody({ localCommId, primaryPath: { ...reqBody().primaryPath, localGid: STRANGER } });
    expect(s.receive({ kind: 'REQ', body }, 1n, { source: STRANGER })).toBe('Ok');
    s.event('connect-request');
    expect(s.receive(s.rep(id))).toBe('Ok');
    s.event('connect-response');
    expect(s.sentKinds()).toEqual([]);
  });

  it('rejects a REP for a connected queue pair with reason 10, ends the old connection and goes on asking (CM-05)', () => {
    const s = new Script();
    const old = s.connected();
    const id = s.connecting({ qpn: 0x55 });
    expect(s.receive(s.rep(id, { localCommId: 0x4444 }))).toBe('Stale');
    const [rej, dreq, ...rest] = s.sent();
    expect(rest).toEqual([]);
    expect(rej?.message).toMatchObject({ kind: 'REJ', body: { reason: 10, messageRejected: 1, remoteCommId: 0x4444 } });
    expect(dreq?.message).toMatchObject({ kind: 'DREQ', body: { localCommId: old, remoteQpn: PEER_QPN } });
    expect(s.event('disconnected')).toMatchObject({ id: old, cause: 'stale' });
    expect(s.cm.state(id)).toBe('req-sent');
  });

  it('ignores a REP with the id of another connection of the same peer', () => {
    const s = new Script();
    s.connected();
    const id = s.connecting({ qpn: 0x55 });
    expect(s.receive(s.rep(id, { localQpn: 0x66 }))).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.state(id)).toBe('req-sent');
  });

  it('lets the application take its time with a response', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rep(id));
    s.advance(100 * T);
    expect(s.sentKinds()).toEqual([]);
    expect(s.eventTypes()).toEqual(['connect-response']);
    s.cm.ready(s.now, id);
    expect(s.sentKinds()).toEqual(['RTU']);
  });

  it('refuses a REP with a management queue pair', () => {
    const s = new Script();
    const id = s.connecting();
    expect(s.receive(s.rep(id, { localQpn: 1 }))).toBe('Refused');
    expect(s.sentKinds()).toEqual(['REJ 5']);
    expect(s.cm.state(id)).toBe('req-sent');
  });

  it('carries 92 bytes of private data and no IP CM header with other service ids', () => {
    const s = new Script();
    const privateData = new Uint8Array(92).fill(4);
    s.cm.connect(s.now, { ...CONNECT, serviceId: 0x1234_5678_9abc_def0n, privateData });
    expect(s.sentOne('REQ').body.privateData).toEqual(privateData);
  });

  it('uses one IP version for everything (CM-20)', () => {
    const s = new Script();
    const [local, remote] = [IpAddress.parse('fd00::1'), IpAddress.parse('fd00::2')];
    const id = s.cm.connect(s.now, { ...CONNECT, local, remote });
    const req = s.sentOne('REQ');
    expect(req.destination).toEqual(remote);
    expect(req.body.primaryPath).toMatchObject({ localGid: local, remoteGid: remote });
    expect(s.receive(s.rep(id), req.transactionId, { source: remote, destination: local })).toBe('Ok');
    expect(() => s.cm.connect(s.now, { ...CONNECT, remote })).toThrow('differ in IP version');
  });

  it('draws ids from the random source, never 0 and never one in use, TIMEWAIT included (CM-19)', () => {
    const values = [1, 2, 0, 10, 10, 10, 77, 11];
    const s = new Script({ random: { u32: () => values.shift() ?? 5 } });
    // The first value is the transaction's upper half; each REQ draws a flow label as well.
    const first = s.cm.connect(s.now, { ...CONNECT, flowLabel: 0 });
    const second = s.cm.connect(s.now, { ...CONNECT, flowLabel: 0 });
    const third = s.cm.connect(s.now, { ...CONNECT, flowLabel: 0 });
    expect([first, second, third]).toEqual([2, 10, 77]);
  });

  it('does not reuse an id over 3,000 connects', () => {
    const s = new Script({ random: seededRandom(3) });
    const ids = new Set<number>();
    for (let i = 0; i < 3000; i++) ids.add(s.connecting());
    expect(ids.size).toBe(3000);
  });

  it('gives up cleanly when the random source is stuck', () => {
    const s = new Script({ random: { u32: () => 42 } });
    s.connecting({ flowLabel: 1 });
    expect(() => s.cm.connect(s.now, CONNECT)).toThrow('no communication id is free');
  });
});
