/**
 * Goal: a datagram service is found, or the side that asks learns why not. Method: the scripted peer in both roles, then
 * two managers on a wire that loses what fast-check draws. ref:conformance#CM-24.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CmMessage,
  CmSidrStatus,
  cmSidrStatusName,
  RDMA_UDP_QKEY,
  RdmaPortSpace,
  rdmaServiceId,
  readIpCmHeader,
  writeIpCmHeader,
} from '../../../packets/cm/index.ts';
import { ConnectionManager, type ResolveParameters } from '../../../transport/cm/index.ts';
import { NONE, OUR_GUID, PEER, PEER_GUID, PEER_TID, Script, STRANGER, seededRandom, T, US } from './harness.ts';

const SERVICE = rdmaServiceId(RdmaPortSpace.Udp, 7174);
const RESOLVE: ResolveParameters = {
  serviceId: SERVICE,
  local: US,
  remote: PEER,
  localPort: 4242,
  cmResponseTimeout: 14,
  maxCmRetries: 3,
};

const headed = (...data: number[]): Uint8Array => {
  const bytes = new Uint8Array(216);
  writeIpCmHeader(new DataView(bytes.buffer), 0, { sourcePort: 4242, source: PEER, destination: US });
  bytes.set(data, 36);
  return bytes;
};

const req = (requestId = 0xcafe, changes: object = {}): CmMessage => ({
  kind: 'SIDR_REQ',
  body: { requestId, partitionKey: 0xff_ff, serviceId: SERVICE, privateData: headed(1, 2, 3), ...changes },
});

const rep = (requestId: number, changes: object = {}): CmMessage => ({
  kind: 'SIDR_REP',
  body: {
    requestId,
    status: 0,
    infoLength: 0,
    vendorId: 0,
    qpn: 0x77,
    serviceId: SERVICE,
    qkey: RDMA_UDP_QKEY,
    info: NONE,
    privateData: Uint8Array.of(4),
    ...changes,
  },
});

describe('offering a datagram service', () => {
  it('reports who asks, and answers with queue pair and key under the transaction of the question', () => {
    const s = new Script();
    s.cm.listenSidr(SERVICE, 4);
    expect(s.receive(req())).toBe('Ok');
    const event = s.event('resolve-request');
    expect(event.ipHeader?.sourcePort).toBe(4242);
    expect([...event.privateData.subarray(0, 4)]).toEqual([1, 2, 3, 0]);
    expect([event.source.equals(PEER), event.destination.equals(US), event.privateData.length]).toEqual([
      true,
      true,
      180,
    ]);
    s.cm.answerSidr(s.now, event.id, { qpn: 0x55, qkey: RDMA_UDP_QKEY, privateData: Uint8Array.of(9) });
    const sent = s.sentOne('SIDR_REP');
    expect(sent.transactionId).toBe(PEER_TID);
    expect(sent.body).toMatchObject({ requestId: 0xcafe, status: 0, qpn: 0x55, qkey: 0x0123_4567, serviceId: SERVICE });
    expect(sent.body.privateData[0]).toBe(9);
  });

  it('absorbs a repeated question until it is answered, then answers it the same, and in the end forgets it', () => {
    const s = new Script();
    s.cm.listenSidr(SERVICE, 4);
    s.receive(req());
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentKinds()).toEqual([]);
    s.cm.answerSidr(s.now, s.event('resolve-request').id, { qpn: 0x55, qkey: 1 });
    const first = s.sentOne('SIDR_REP');
    expect(s.receive(req())).toBe('Duplicate');
    expect(s.sentOne('SIDR_REP').bytes).toEqual(first.bytes);
    expect(s.cm.size).toBe(1);
    s.advance(10_000_000_000);
    expect([s.cm.size, s.eventTypes(), s.cm.pollTimeout()]).toEqual([0, [], Number.POSITIVE_INFINITY]);
  });

  it('tells questions of different peers apart', () => {
    const s = new Script();
    s.cm.listenSidr(SERVICE, 4);
    expect(s.receive(req(1))).toBe('Ok');
    expect(s.receive(req(1), PEER_TID, { source: STRANGER })).toBe('Ok');
    expect(s.receive(req(2))).toBe('Ok');
    expect(s.eventTypes().length).toBe(3);
  });

  it('says 1 for a service nobody offers, 2 for a header nobody can read, and keeps nothing of either', () => {
    const s = new Script();
    s.cm.listenSidr(SERVICE, 4);
    expect(s.receive(req(1, { serviceId: rdmaServiceId(RdmaPortSpace.Udp, 1) }), 0x51n)).toBe('NoListener');
    const none = s.sentOne('SIDR_REP');
    expect(none.transactionId).toBe(0x51n);
    expect(none.body).toMatchObject({ requestId: 1, status: CmSidrStatus.Unsupported, qpn: 0, qkey: 0 });
    expect(s.receive(req(2, { privateData: Uint8Array.of(0, 0x50) }))).toBe('Refused');
    expect(s.sentOne('SIDR_REP').body).toMatchObject({ requestId: 2, status: CmSidrStatus.Reject });
    expect([s.cm.size, s.eventTypes()]).toEqual([0, []]);
  });

  it('gives all 216 bytes to services that are not those of RDMA CM, and none of RDMA_PS_IB need a header', () => {
    for (const serviceId of [0x1000_0000_0000_0001n, rdmaServiceId(RdmaPortSpace.Ib, 5)]) {
      const s = new Script();
      s.cm.listenSidr(serviceId, 1);
      s.receive(req(1, { serviceId, privateData: new Uint8Array(216).fill(0xee) }));
      const event = s.event('resolve-request');
      expect([event.ipHeader, event.privateData.length, event.privateData[215]]).toEqual([undefined, 216, 0xee]);
    }
    const ipoib = new Script();
    ipoib.cm.listenSidr(rdmaServiceId(RdmaPortSpace.IpoIb, 5), 1);
    ipoib.receive(req(1, { serviceId: rdmaServiceId(RdmaPortSpace.IpoIb, 5) }));
    expect(ipoib.event('resolve-request').ipHeader?.source.equals(PEER)).toBe(true);
  });

  it.each(Object.entries(CmSidrStatus).filter(([, status]) => status !== 0))('can say %s (%i)', (name, status) => {
    const s = new Script();
    s.cm.listenSidr(SERVICE, 1);
    s.receive(req());
    s.cm.answerSidr(s.now, s.event('resolve-request').id, { status, info: Uint8Array.of(1, 2) });
    const { body } = s.sentOne('SIDR_REP');
    expect([cmSidrStatusName(body.status), body.infoLength, body.info[1], body.qpn]).toEqual([name, 2, 2, 0]);
  });

  it('is bounded by its backlog and by maxPending; answers that are remembered go first', () => {
    const s = new Script({ maxPending: 3 });
    s.cm.listenSidr(SERVICE, 2);
    s.cm.listenSidr(SERVICE + 1n, 9, 'reject');
    expect([s.receive(req(1)), s.receive(req(2)), s.receive(req(3))]).toEqual(['Ok', 'Ok', 'BacklogFull']);
    expect(s.receive(req(4, { serviceId: SERVICE + 1n }))).toBe('Ok');
    // The service with most requests gives one up, until the other one has most.
    expect(s.receive(req(5, { serviceId: SERVICE + 1n }))).toBe('Ok');
    expect([s.cm.size, s.cm.counters()['displaced']]).toEqual([3, 1]);
    expect(s.receive(req(6, { serviceId: SERVICE + 1n }))).toBe('TableFull');
    const [, second] = s.events();
    s.cm.answerSidr(s.now, second?.id ?? 0, { status: 2 });
    expect(s.receive(req(6, { serviceId: SERVICE + 1n }))).toBe('Ok');
    expect(s.cm.size).toBe(3);
    expect(s.sentKinds()).toEqual(['SIDR_REP']);
    const strict = new Script();
    strict.cm.listenSidr(SERVICE, 1, 'reject');
    strict.receive(req(1));
    expect(strict.receive(req(2))).toBe('BacklogFull');
    expect(strict.sentOne('SIDR_REP').body).toMatchObject({ requestId: 2, status: CmSidrStatus.Reject });
  });

  it('forgets a question nobody answers after the lifetime of requests, and its place in the backlog is free', () => {
    const s = new Script({ requestLifetimeNs: 5 * T });
    s.cm.listenSidr(SERVICE, 1);
    for (let round = 0; round < 3; round++) {
      expect(s.receive(req())).toBe('Ok');
      const { id } = s.event('resolve-request');
      s.advance(5 * T);
      expect(s.event('resolve-request-expired').id).toBe(id);
      expect(() => s.cm.answerSidr(s.now, id, { status: 2 })).toThrow('answered or withdrawn');
      expect([s.cm.size, s.sentKinds()]).toEqual([0, []]);
    }
  });

  it('refuses impossible answers and changes nothing', () => {
    const s = new Script();
    s.cm.listenSidr(SERVICE, 1);
    expect(() => s.cm.listenSidr(SERVICE, 1)).toThrow('is offered already');
    s.receive(req());
    const { id } = s.event('resolve-request');
    expect(() => s.cm.answerSidr(s.now, id, { qpn: 1, qkey: 1 })).toThrow('qpn must be');
    expect(() => s.cm.answerSidr(s.now, id, { qpn: 2, qkey: 2 ** 32 })).toThrow('qkey must be');
    expect(() => s.cm.answerSidr(s.now, id, { status: 0 } as never)).toThrow('status must be');
    expect(() => s.cm.answerSidr(s.now, id, { status: 2, info: new Uint8Array(73) })).toThrow(
      '72 bytes of information',
    );
    const long = { qpn: 2, qkey: 1, privateData: new Uint8Array(137) };
    expect(() => s.cm.answerSidr(s.now, id, long)).toThrow('136 bytes of private data, not 137');
    expect(s.sentKinds()).toEqual([]);
    s.cm.answerSidr(s.now, id, { ...long, privateData: new Uint8Array(136) });
    expect(() => s.cm.answerSidr(s.now, id, { status: 2 })).toThrow('answered or withdrawn');
    s.cm.unlistenSidr(SERVICE);
    expect(s.receive(req(9))).toBe('NoListener');
  });
});

describe('looking for a datagram service', () => {
  it('asks with an IP CM header and reports the answer', () => {
    const s = new Script();
    const id = s.cm.resolve(s.now, { ...RESOLVE, privateData: Uint8Array.of(8) });
    const { body } = s.sentOne('SIDR_REQ');
    expect(body).toMatchObject({ requestId: id, partitionKey: 0xff_ff, serviceId: SERVICE });
    const header = readIpCmHeader(new DataView(body.privateData.buffer), 0);
    expect([header?.sourcePort, header?.source.equals(US), header?.destination.equals(PEER)]).toEqual([
      4242,
      true,
      true,
    ]);
    expect(body.privateData[36]).toBe(8);
    expect(s.receive(rep(id))).toBe('Ok');
    expect(s.event('resolved')).toMatchObject({ id, status: 0, qpn: 0x77, qkey: RDMA_UDP_QKEY });
    expect(s.receive(rep(id))).toBe('UnknownId');
    expect([s.cm.size, s.cm.pollTimeout()]).toEqual([0, Number.POSITIVE_INFINITY]);
  });

  it('asks again at the response timeout, as often as it may, with the same bytes', () => {
    const s = new Script();
    const id = s.cm.resolve(s.now, RESOLVE);
    const first = s.sentOne('SIDR_REQ');
    for (let repetition = 0; repetition < 3; repetition++) {
      s.advance(T - 1);
      expect(s.sentKinds()).toEqual([]);
      s.advance(1);
      expect(s.sentOne('SIDR_REQ').bytes).toEqual(first.bytes);
    }
    s.advance(T);
    expect(s.event('unresolved').id).toBe(id);
    expect([s.sentKinds(), s.cm.size]).toEqual([[], 0]);
  });

  it.each(Object.entries(CmSidrStatus).filter(([, status]) => status !== 0))('hears %s (%i)', (_name, status) => {
    const s = new Script();
    const id = s.cm.resolve(s.now, RESOLVE);
    expect(s.receive(rep(id, { status, qpn: 0, infoLength: 1, info: Uint8Array.of(7, 7) }))).toBe('Ok');
    const event = s.event('resolved');
    expect([event.status, [...event.info], event.privateData[0]]).toEqual([status, [7], 4]);
  });

  it('does not believe a success without a queue pair', () => {
    const s = new Script();
    const id = s.cm.resolve(s.now, RESOLVE);
    expect(s.receive(rep(id, { qpn: 0 }))).toBe('Refused');
    expect(s.event('resolved').status).toBe(CmSidrStatus.NoQp);
  });

  it('hears nobody but whom it asked (SEC-14), and nobody once it has let go', () => {
    const s = new Script();
    const id = s.cm.resolve(s.now, RESOLVE);
    expect(s.receive(rep(id), PEER_TID, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.receive(rep(id + 1))).toBe('UnknownId');
    s.cm.cancelResolve(id);
    s.cm.cancelResolve(id);
    expect(s.receive(rep(id))).toBe('UnknownId');
    s.sent();
    s.advance(100 * T);
    expect([s.eventTypes(), s.sentKinds(), s.cm.size]).toEqual([[], [], 0]);
  });

  it('throws before anything is sent when a value does not fit', () => {
    const s = new Script();
    const bad: readonly (readonly [Partial<ResolveParameters>, string])[] = [
      [{ localPort: 65_536 }, 'localPort must be'],
      [{ maxCmRetries: 16 }, 'maxCmRetries must be'],
      [{ cmResponseTimeout: 32 }, 'cmResponseTimeout must be'],
      [{ serviceId: -1n }, 'unsigned 64-bit'],
      [{ privateData: new Uint8Array(181) }, '180 bytes of private data, not 181'],
      [{ serviceId: 1n, privateData: new Uint8Array(217) }, '216 bytes of private data, not 217'],
    ];
    for (const [changes, message] of bad) {
      expect(() => s.cm.resolve(s.now, { ...RESOLVE, ...changes })).toThrow(message);
    }
    expect([s.sentKinds(), s.cm.size]).toEqual([[], 0]);
  });
});

describe('two managers', () => {
  it('find a service while losses stay within the retries, and the application hears one question for one', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 3 }), (losses) => {
        const fates = [...losses];
        const asking = new ConnectionManager({ random: seededRandom(1), caGuid: OUR_GUID });
        const offering = new ConnectionManager({ random: seededRandom(2), caGuid: PEER_GUID });
        offering.listenSidr(SERVICE, 1);
        asking.resolve(0, RESOLVE);
        let now = 0;
        let questions = 0;
        let answer: number | undefined;
        const carry = (from: ConnectionManager, to: ConnectionManager): void => {
          for (let mad = from.pollTransmit(now); mad !== undefined; mad = from.pollTransmit(now)) {
            if (fates.shift() === true) continue;
            const origin = { source: mad.source, destination: mad.destination, sourceQpn: 1 };
            to.handleMad(now, new DataView(mad.bytes.slice().buffer), 0, 256, origin);
          }
        };
        while (answer === undefined && now < 100 * T) {
          carry(asking, offering);
          for (let event = offering.pollEvent(); event !== undefined; event = offering.pollEvent()) {
            questions++;
            offering.answerSidr(now, event.id, { qpn: 0x40, qkey: 5 });
          }
          carry(offering, asking);
          const event = asking.pollEvent();
          if (event?.type === 'resolved') answer = event.qpn;
          now += T;
          asking.handleTimeout(now);
        }
        expect([answer, questions]).toEqual([0x40, 1]);
      }),
    );
  });
});
