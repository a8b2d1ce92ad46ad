import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { type CmReq, readIpCmHeader, writeIpCmHeader } from '../../../packets/cm/index.ts';
import { ACCEPT, OUR_GUID, PEER, PEER_ID, PEER_TID, reqBody, Script, SERVICE, STRANGER, T, US } from './harness.ts';

const req = (changes: Partial<CmReq> = {}) => ({ kind: 'REQ', body: reqBody(changes) }) as const;

describe('a listening connection manager', () => {
  it('reports a request, accepts it with REP and is established by RTU', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 8);
    expect(s.receive(req())).toBe('Ok');
    const event = s.event('connect-request');
    expect(event.request).toEqual(reqBody());
    expect(event.ipHeader).toEqual({ sourcePort: 4242, source: PEER, destination: US });
    expect(event.privateData.length).toBe(56);
    expect(s.sentKinds()).toEqual([]);

    s.cm.accept(s.now, event.id, { ...ACCEPT, privateData: Uint8Array.of(5, 6) });
    const rep = s.sentOne('REP');
    // CM-18: the transaction is the peer's, the ids are swapped.
    expect(rep.transactionId).toBe(PEER_TID);
    expect(rep.destination).toEqual(PEER);
    expect(rep.body).toMatchObject({
      localCommId: event.id,
      remoteCommId: PEER_ID,
      localQpn: ACCEPT.qpn,
      startingPsn: ACCEPT.startingPsn,
      targetAckDelay: 15,
      rnrRetryCount: 7,
      localCaGuid: OUR_GUID,
    });
    expect([...rep.body.privateData.subarray(0, 3)]).toEqual([5, 6, 0]);

    expect(s.receive(s.rtu(event.id))).toBe('Ok');
    expect(s.event('established')).toMatchObject({ id: event.id, cause: 'rtu' });
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.pollTimeout()).toBe(Number.POSITIVE_INFINITY);
    expect(s.cm.pendingCount).toBe(0);
  });

  it('rejects an unknown service id with reason 8 and keeps nothing (CM-01)', () => {
    const s = new Script();
    expect(s.receive(req({ serviceId: 0x0106_ffffn }))).toBe('NoListener');
    const rej = s.sentOne('REJ');
    expect(rej.transactionId).toBe(PEER_TID);
    expect(rej.body).toMatchObject({ localCommId: 0, remoteCommId: PEER_ID, messageRejected: 0, reason: 8 });
    expect(s.cm.size).toBe(0);
    expect(s.eventTypes()).toEqual([]);
  });

  it('absorbs a repeated request while the first is pending, and after its REP (CM-02)', () => {
    const s = new Script();
    const id = s.requested();
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
    s.cm.accept(s.now, id, ACCEPT);
    expect(s.sentKinds()).toEqual(['REP']);
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.receive(s.rtu(id))).toBe('Ok');
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
    expect(s.eventTypes()).toEqual(['established']);
  });

  it('refuses a request that gives a known id to another queue pair with reason 30, and keeps what it has', () => {
    const states: readonly (readonly [string, (s: Script) => number])[] = [
      ['req-rcvd', (s) => s.requested()],
      ['rep-sent', (s) => s.accepted()],
      ['established', (s) => s.established()],
    ];
    for (const [state, prepare] of states) {
      const s = new Script();
      const id = prepare(s);
      expect(s.receive(req({ localQpn: 0x99 }))).toBe('DuplicateCommId');
      expect(s.sentOne('REJ').body).toMatchObject({ localCommId: 0, remoteCommId: PEER_ID, reason: 30 });
      // A stranger's is another request, and this one names a path that is not the stranger's.
      expect(s.receive(req({ localQpn: 0x99 }), 1n, { source: STRANGER })).toBe('Refused');
      expect([s.sentKinds(), s.eventTypes(), s.cm.state(id)]).toEqual([['REJ 12'], [], state]);
    }
  });

  it('takes a request that comes with the id of a refused one and another queue pair for the next attempt', () => {
    const s = new Script();
    s.cm.reject(s.now, s.requested());
    expect(s.sentKinds()).toEqual(['REJ 28']);
    expect(s.receive(req({ localQpn: 0x99 }))).toBe('Ok');
    expect(s.event('connect-request').request.localQpn).toBe(0x99);
    expect([s.cm.size, s.cm.pendingCount]).toEqual([1, 1]);
  });

  it('answers a repeated request with the same MRA (CM-03)', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.sendMra(s.now, id, 20);
    const mra = s.sentOne('MRA');
    expect(mra.body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, messageMraed: 0, serviceTimeout: 20 });
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentOne('MRA').bytes).toEqual(mra.bytes);
    s.cm.accept(s.now, id, ACCEPT);
    expect(s.sentKinds()).toEqual(['REP']);
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
  });

  it('does not send that MRA for anything else: a REP to a passive side draws nothing', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.sendMra(s.now, id, 20, true);
    s.cm.accept(s.now, id, ACCEPT);
    s.receive(s.rtu(id));
    s.sent();
    expect(s.receive(s.rep(id))).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
  });

  it('can say again how long it takes, a deferred MRA at once included', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.sendMra(s.now, id, 24, true);
    s.cm.sendMra(s.now, id, 18);
    expect(s.sentOne('MRA').body.serviceTimeout).toBe(18);
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentOne('MRA').body.serviceTimeout).toBe(18);
    expect(s.cm.state(id)).toBe('mra-req-sent');
  });

  it('sends a deferred MRA only when the request is repeated, as rdma_cm does', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.sendMra(s.now, id, 24, true);
    expect(s.sentKinds()).toEqual([]);
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentKinds()).toEqual(['MRA']);
  });

  it('rejects a repeated request in TIMEWAIT with reason 10 (CM-04)', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(s.dreq(id))).toBe('Ok');
    expect(s.sentKinds()).toEqual(['DREP']);
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentKinds()).toEqual(['REJ 10']);
  });

  it('rejects a request for a connected queue pair with reason 10 and ends the old connection (CM-05)', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(req({ localCommId: 0x9999 }), 0x88n)).toBe('Stale');
    const [rej, dreq, ...rest] = s.sent();
    expect(rest).toEqual([]);
    expect(rej?.transactionId).toBe(0x88n);
    expect(rej?.message).toMatchObject({ kind: 'REJ', body: { reason: 10, remoteCommId: 0x9999, messageRejected: 0 } });
    expect(dreq?.message).toMatchObject({ kind: 'DREQ', body: { localCommId: id, remoteCommId: PEER_ID } });
    expect(s.event('disconnected')).toMatchObject({ id, cause: 'stale' });
    // DREQ is repeated until retries end, then TIMEWAIT; the application is told once.
    s.advance(4 * T);
    expect(s.sentKinds()).toEqual(['DREQ', 'DREQ', 'DREQ']);
    expect(s.cm.state(id)).toBe('timewait');
    expect(s.eventTypes()).toEqual([]);
    expect(s.receive(req({ localCommId: 0x9999 }), 0x88n)).toBe('Ok');
  });

  it('does not let a stranger end a connection by naming its GUID and queue pair (SEC-14)', () => {
    const s = new Script();
    const id = s.established();
    const primaryPath = { ...reqBody().primaryPath, localGid: STRANGER };
    expect(s.receive(req({ localCommId: 0x9999, primaryPath }), 1n, { source: STRANGER })).toBe('Ok');
    expect(s.receive(req({ primaryPath, localQpn: 0x99 }), 1n, { source: STRANGER })).toBe('Ok');
    expect([s.sentKinds(), s.cm.state(id)]).toEqual([[], 'established']);
    expect(s.eventTypes()).toEqual(['connect-request', 'connect-request']);
  });

  it.each([
    ['GUID and queue pair', 0x9999],
    ['GUID, queue pair and id', PEER_ID],
  ])('serves a peer whose %s a stranger has named before it (SEC-14)', (_, localCommId) => {
    const s = new Script();
    s.cm.listen(SERVICE, 8);
    const fromStranger = { localCommId, primaryPath: { ...reqBody().primaryPath, localGid: STRANGER } };
    expect(s.receive(req(fromStranger), 1n, { source: STRANGER })).toBe('Ok');
    expect(s.receive(req())).toBe('Ok');
    expect(s.events().map((event) => event.type === 'connect-request' && `${event.source}`)).toEqual([
      `${STRANGER}`,
      `${PEER}`,
    ]);
    expect(s.sentKinds()).toEqual([]);
  });

  it('ignores a second RTU (CM-08) and one with foreign ids', () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(s.rtu(id))).toBe('Duplicate');
    expect(s.receive(s.rtu(id + 1))).toBe('UnknownId');
    expect(s.receive({ kind: 'RTU', body: { localCommId: 5, remoteCommId: id, privateData: US_BYTES } })).toBe(
      'UnknownId',
    );
    expect(s.receive(s.rtu(id), PEER_TID, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.sentKinds()).toEqual([]);
    expect(s.eventTypes()).toEqual([]);
  });

  it('takes the first data packet for RTU, and then ignores RTU (CM-09)', () => {
    const s = new Script();
    const id = s.accepted();
    expect(s.cm.notifyTraffic(s.now, 0x44)).toBe(false);
    expect(s.cm.notifyTraffic(s.now, ACCEPT.qpn)).toBe(true);
    expect(s.event('established')).toMatchObject({ id, cause: 'traffic' });
    expect(s.cm.notifyTraffic(s.now, ACCEPT.qpn)).toBe(false);
    expect(s.receive(s.rtu(id))).toBe('Duplicate');
    s.advance(10 * T);
    expect(s.sentKinds()).toEqual([]);
    expect(s.eventTypes()).toEqual([]);
  });

  it('repeats REP until RTU comes, and gives up with REJ 4', () => {
    const s = new Script();
    const id = s.accepted();
    s.advance(3 * T);
    expect(s.sentKinds()).toEqual(['REP', 'REP', 'REP']);
    s.advance(T);
    const rej = s.sentOne('REJ');
    expect(rej.body).toMatchObject({
      localCommId: id,
      remoteCommId: PEER_ID,
      messageRejected: 2,
      reason: 4,
      infoLength: 8,
    });
    expect(s.event('unreachable')).toEqual({ type: 'unreachable', id, waitingFor: 'RTU' });
    expect(s.cm.size).toBe(0);
  });

  it('repeats REP seven times to a peer that shows no sign of life, and once more for each REQ (SEC-14)', () => {
    const s = new Script();
    const id = s.requested({ maxCmRetries: 15 });
    s.cm.accept(s.now, id, ACCEPT);
    s.advance(10 * T);
    expect(s.sentKinds()).toEqual(new Array<string>(8).fill('REP'));
    expect(s.receive(req({ maxCmRetries: 15 }))).toBe('Duplicate');
    expect(s.receive(req({ maxCmRetries: 15 }))).toBe('Duplicate');
    s.advance(3 * T);
    expect(s.sentKinds()).toEqual(['REP']);
    expect(s.receive(s.rtu(id))).toBe('Ok');
  });

  it('rejects a GID that is not the address it was reached at with reason 12 and tells the right one (CM-15)', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 8);
    const path = reqBody().primaryPath;
    expect(s.receive(req({ primaryPath: { ...path, remoteGid: STRANGER } }))).toBe('Refused');
    const rej = s.sentOne('REJ');
    expect(rej.body).toMatchObject({ reason: 12, infoLength: 16 });
    expect(IpAddress.fromGid(new DataView(rej.body.info.buffer, rej.body.info.byteOffset), 0)).toEqual(US);
    expect(s.receive(req({ primaryPath: { ...path, localGid: STRANGER } }))).toBe('Refused');
    expect(s.sentKinds()).toEqual(['REJ 12']);
    expect(s.cm.size).toBe(0);
  });

  it('rejects datagrams and services without a name with 9, no MTU with 26, a management queue pair with 5, no IP CM header with 28', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 8);
    const cases: readonly (readonly [Partial<CmReq>, string])[] = [
      [{ transportServiceType: 2 }, 'REJ 9'],
      [{ transportServiceType: 3, extendedTransportType: 0 }, 'REJ 9'],
      [{ transportServiceType: 3, extendedTransportType: 2 }, 'REJ 9'],
      [{ pathMtu: 0 }, 'REJ 26'],
      [{ pathMtu: 6 }, 'REJ 26'],
      [{ localQpn: 1 }, 'REJ 5'],
      [{ localQpn: 0xff_ff_ff }, 'REJ 5'],
      [{ privateData: Uint8Array.of(0, 0x50) }, 'REJ 28'],
    ];
    for (const [changes, answer] of cases) {
      expect(s.receive(req(changes))).toBe('Refused');
      expect(s.sentKinds()).toEqual([answer]);
    }
    expect(s.cm.size).toBe(0);
    expect(s.eventTypes()).toEqual([]);
  });

  it('crosses the depths: REQ 4/2 allows at most 2/4 in REP (CM-16)', () => {
    const s = new Script();
    const id = s.requested({ initiatorDepth: 4, responderResources: 2 });
    s.cm.accept(s.now, id, ACCEPT);
    expect(s.sentOne('REP').body).toMatchObject({ initiatorDepth: 2, responderResources: 4 });
  });

  it('gives all 92 bytes of private data when the service id is not one of RDMA CM', () => {
    const s = new Script();
    s.cm.listen(0x1000_0000_0000_0001n, 1);
    const privateData = new Uint8Array(92).fill(9);
    expect(s.receive(req({ serviceId: 0x1000_0000_0000_0001n, privateData }))).toBe('Ok');
    expect(s.event('connect-request')).toMatchObject({ ipHeader: undefined, privateData });
  });

  it('works over IPv6 as over IPv4 (CM-20)', () => {
    const [us, peer] = [IpAddress.parse('fd00::1'), IpAddress.parse('fd00::2')];
    const s = new Script();
    s.cm.listen(SERVICE, 8);
    const base = reqBody();
    const privateData = new Uint8Array(92);
    writeIpCmHeader(new DataView(privateData.buffer), 0, { sourcePort: 1, source: peer, destination: us });
    const body = { ...base, privateData, primaryPath: { ...base.primaryPath, localGid: peer, remoteGid: us } };
    expect(s.receive({ kind: 'REQ', body }, PEER_TID, { source: peer, destination: us })).toBe('Ok');
    const { id, ipHeader } = s.event('connect-request');
    expect(ipHeader).toEqual(readIpCmHeader(new DataView(privateData.buffer), 0));
    s.cm.accept(s.now, id, ACCEPT);
    expect(s.sentOne('REP').destination).toEqual(peer);
  });
});

const US_BYTES = new Uint8Array(0);

describe('the half-open table (CM-26, SEC-14)', () => {
  it('is bounded by the backlog, in silence, and has room again when the application has decided', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 2);
    const ids: number[] = [];
    for (let i = 0; i < 5; i++) {
      const status = s.receive(req({ localCommId: 100 + i, localQpn: 100 + i }));
      expect(status).toBe(i < 2 ? 'Ok' : 'BacklogFull');
    }
    for (const event of s.events()) ids.push(event.id);
    expect(ids.length).toBe(2);
    expect(s.sentKinds()).toEqual([]);
    s.cm.accept(s.now, ids[0] ?? 0, ACCEPT);
    s.cm.reject(s.now, ids[1] ?? 0, 28);
    expect(s.sentKinds()).toEqual(['REP', 'REJ 28']);
    expect(s.receive(req({ localCommId: 200, localQpn: 200 }))).toBe('Ok');
    expect(s.receive(req({ localCommId: 201, localQpn: 201 }))).toBe('Ok');
    expect(s.receive(req({ localCommId: 202, localQpn: 202 }))).toBe('BacklogFull');
  });

  it('says reason 3 when the backlog is full and the listener wants its callers to know', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 1, { whenFull: 'reject' });
    expect(s.receive(req({ localCommId: 1, localQpn: 11 }))).toBe('Ok');
    expect(s.receive(req({ localCommId: 2, localQpn: 12 }), 0x99n)).toBe('BacklogFull');
    const rej = s.sentOne('REJ');
    expect(rej.transactionId).toBe(0x99n);
    expect(rej.body).toMatchObject({ localCommId: 0, remoteCommId: 2, messageRejected: 0, reason: 3 });
    expect(s.cm.size).toBe(1);
  });

  it('stays within maxPending under a flood, expires old entries, and serves the next caller', () => {
    const s = new Script({ maxPending: 16 });
    s.cm.listen(SERVICE, 1000);
    for (let i = 0; i < 5000; i++) {
      s.receive(req({ localCommId: i + 1, localQpn: 16 + i, localCaGuid: BigInt(i) }));
      expect(s.cm.pendingCount).toBeLessThanOrEqual(16);
    }
    expect(s.cm.size).toBe(16);
    expect(s.cm.counters()).toMatchObject({ Ok: 16, TableFull: 4984 });
    expect(s.sentKinds()).toEqual([]);
    s.events();
    s.advance(60_000_000_000);
    expect(s.cm.size).toBe(0);
    expect(new Set(s.eventTypes())).toEqual(new Set(['unreachable']));
    expect(s.receive(req())).toBe('Ok');
  });

  it('gives up a remembered refusal first when it is full', () => {
    const s = new Script({ maxPending: 2 });
    s.cm.listen(SERVICE, 10);
    s.receive(req({ localCommId: 1, localQpn: 11 }));
    s.receive(req({ localCommId: 2, localQpn: 12 }));
    const [first] = s.events();
    s.cm.reject(s.now, first?.id ?? 0, 28);
    expect(s.receive(req({ localCommId: 3, localQpn: 13 }))).toBe('Ok');
    expect(s.receive(req({ localCommId: 4, localQpn: 14 }))).toBe('TableFull');
    expect(s.cm.pendingCount).toBe(2);
  });

  it('still answers a pending request after unlisten, but takes no new one', () => {
    const s = new Script();
    const id = s.requested();
    s.cm.unlisten(SERVICE);
    expect(s.receive(req({ localCommId: 5, localQpn: 50 }))).toBe('NoListener');
    expect(s.sentKinds()).toEqual(['REJ 8']);
    s.cm.accept(s.now, id, ACCEPT);
    expect(s.sentKinds()).toEqual(['REP']);
  });
});
