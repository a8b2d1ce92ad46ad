/**
 * Goal: connections of every service are asked for and granted as ib_cm does it. Method: the fields of REQ and REP,
 * with a scripted peer; then two managers that call each other at the same moment.
 */

import { describe, expect, it } from 'vitest';
import { cmReqService, RdmaPortSpace, rdmaServiceId } from '../../../packets/cm/index.ts';
import { defined } from '../../../packets/defined.ts';
import { ACCEPT, CONNECT, NONE, PEER_ID, PEER_QPN, reqBody, Script, SERVICE } from './harness.ts';

const CONNECT_UC = { ...CONNECT, service: 'uc' } as const;

describe('unreliable connections', () => {
  it('are asked for by transport service type 1, and granted like reliable ones', () => {
    const s = new Script();
    const id = s.cm.connect(s.now, CONNECT_UC);
    const { body } = s.sentOne('REQ');
    expect([body.transportServiceType, body.extendedTransportType, cmReqService(body)]).toEqual([1, 0, 'uc']);
    s.receive(s.rep(id));
    expect(s.event('connect-response').remoteQpn).toBe(PEER_QPN);
    const passive = new Script();
    const request = passive.requested({ transportServiceType: 1 });
    passive.cm.accept(passive.now, request, ACCEPT);
    expect(passive.sentOne('REP').body).toMatchObject({ localQpn: ACCEPT.qpn, localEecn: 0, srq: 0 });
  });
});

describe('extended reliable connections', () => {
  it('are asked for by the extended type, without what only a target has', () => {
    const s = new Script();
    const id = s.cm.connect(s.now, { ...CONNECT_UC, service: 'xrc', srq: true });
    const { body } = s.sentOne('REQ');
    expect(body).toMatchObject({
      transportServiceType: 3,
      extendedTransportType: 1,
      localQpn: CONNECT_UC.qpn,
      initiatorDepth: 4,
      responderResources: 0,
      retryCount: 0,
      rnrRetryCount: 0,
      srq: 0,
    });
    // The target's queue pair stands in the end-to-end context; the other field means nothing.
    expect(s.receive(s.rep(id, { localQpn: 0, localEecn: 0x99, srq: 1 }))).toBe('Ok');
    expect(s.event('connect-response').remoteQpn).toBe(0x99);
    s.cm.ready(s.now, id);
    s.sent();
    s.cm.disconnect(s.now, id);
    expect(s.sentOne('DREQ').body.remoteQpn).toBe(0x99);
  });

  it('are granted with the queue pair in the end-to-end context, the SRQ bit, and nothing to start', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 1);
    s.receive({ kind: 'REQ', body: reqBody({ transportServiceType: 3, extendedTransportType: 1 }) });
    const event = s.event('connect-request');
    expect(event.service).toBe('xrc');
    s.cm.accept(s.now, event.id, { ...ACCEPT, flowControl: true });
    expect(s.sentOne('REP').body).toMatchObject({
      localQpn: 0,
      localEecn: ACCEPT.qpn,
      initiatorDepth: 0,
      responderResources: 4,
      endToEndFlowControl: 0,
      srq: 1,
    });
    s.receive(s.rtu(event.id));
    expect(s.receive(s.dreq(event.id))).toBe('Ok');
  });

  it('are refused when the answer names no queue pair there', () => {
    const s = new Script();
    const id = s.cm.connect(s.now, { ...CONNECT_UC, service: 'xrc' });
    s.sent();
    expect(s.receive(s.rep(id, { localEecn: 0 }))).toBe('Refused');
    expect(s.sentKinds()).toEqual(['REJ 5']);
  });
});

describe('a listener', () => {
  it('refuses services it does not want with reason 9', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 4, { services: ['rc'] });
    expect(s.receive({ kind: 'REQ', body: reqBody({ transportServiceType: 1 }) })).toBe('Refused');
    expect(s.sentKinds()).toEqual(['REJ 9']);
    expect(s.receive({ kind: 'REQ', body: reqBody() })).toBe('Ok');
  });

  it('of RDMA_PS_IB takes requests with an IP CM header and without', () => {
    const serviceId = rdmaServiceId(RdmaPortSpace.Ib, 7471);
    const s = new Script();
    s.cm.listen(serviceId, 4);
    s.receive({ kind: 'REQ', body: reqBody({ serviceId }) });
    const bare = { serviceId, localCommId: 2, localQpn: 0x44, privateData: new Uint8Array(92).fill(0xee) };
    s.receive({ kind: 'REQ', body: reqBody(bare) });
    const [first, second] = s.events();
    if (first?.type !== 'connect-request' || second?.type !== 'connect-request') expect.fail('two requests');
    expect([first.ipHeader?.sourcePort, first.privateData.length]).toEqual([4242, 56]);
    expect([second.ipHeader, second.privateData.length]).toEqual([undefined, 92]);
  });

  it('says in REP what became of an alternate path: 1 unless it was loaded, 0 when there was none', () => {
    const alternate = { ...reqBody().primaryPath, flowLabel: 3 };
    for (const [changes, given, answer] of [
      [{}, undefined, 0],
      [{ alternatePath: alternate }, undefined, 1],
      [{ alternatePath: alternate }, 0, 0],
      [{ alternatePath: alternate }, 2, 2],
    ] as const) {
      const s = new Script();
      const id = s.requested(changes);
      s.cm.accept(s.now, id, { ...ACCEPT, ...defined({ failoverAccepted: given }) });
      expect(s.sentOne('REP').body.failoverAccepted).toBe(answer);
    }
  });
});

describe('two sides that call each other at the same moment', () => {
  it('get a connection for each call, as with ib_cm, whose requests only ever meet listeners', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 1);
    const ours = s.connecting();
    expect(s.receive({ kind: 'REQ', body: reqBody({ localCommId: 7, localQpn: 0x70 }) })).toBe('Ok');
    const theirs = s.event('connect-request').id;
    s.cm.accept(s.now, theirs, { ...ACCEPT, qpn: 0x71 });
    expect(s.receive(s.rep(ours))).toBe('Ok');
    s.cm.ready(s.now, ours);
    expect(s.receive({ kind: 'RTU', body: { localCommId: 7, remoteCommId: theirs, privateData: NONE } })).toBe('Ok');
    expect([s.cm.state(ours), s.cm.state(theirs), s.cm.size]).toEqual(['established', 'established', 2]);
  });

  it('with one and the same pair of queue pairs end with one: the second answer is stale', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 1);
    const ours = s.connecting();
    s.receive({ kind: 'REQ', body: reqBody({ localCommId: 7 }) });
    s.cm.accept(s.now, s.event('connect-request').id, ACCEPT);
    s.sent();
    expect(s.receive(s.rep(ours, { localCommId: PEER_ID }))).toBe('Stale');
    expect(s.sentKinds()).toEqual(['REJ 10']);
  });

  it('are refused with reason 8 by a side that does not listen', () => {
    const s = new Script();
    const id = s.connecting();
    expect(s.receive({ kind: 'REQ', body: reqBody() })).toBe('NoListener');
    expect(s.sentKinds()).toEqual(['REJ 8']);
    expect(s.cm.state(id)).toBe('req-sent');
  });
});
