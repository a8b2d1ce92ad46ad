/**
 * Goal: the application's numbers are taken as far as their field goes, and refused beyond, before anything is sent.
 * Method: each parameter of each call at both ends of its range and one beyond.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import type { AlternatePath, ResolveParameters } from '../../../transport/cm/index.ts';
import { ACCEPT, CONNECT, PEER, reqBody, Script, SERVICE, US } from './harness.ts';

type Range = readonly [name: string, least: number, most: number];

const DEPTHS: readonly Range[] = [
  ['initiatorDepth', 0, 255],
  ['responderResources', 0, 255],
];
/** Not 0 and 1, which are for management, nor 0xffffff, which is for multicast. */
const QPN: Range = ['qpn', 2, 0xff_ff_fe];
const CM_TIMERS: readonly Range[] = [
  ['cmResponseTimeout', 0, 31],
  ['maxCmRetries', 0, 15],
];
const IP_HEADER: readonly Range[] = [
  ['trafficClass', 0, 0xff],
  ['hopLimit', 0, 0xff],
  ['flowLabel', 0, 0xf_ff_ff],
];

/** Calls that take `name` as `least` and as `most`, and refuse what is beyond. */
function expectRange([name, least, most]: Range, call: (s: Script, change: Record<string, unknown>) => void): void {
  for (const value of [least, most]) {
    const s = new Script();
    call(s, { [name]: value });
    expect(s.sentKinds().length, `${name} ${value}`).toBe(1);
  }
  for (const value of [least - 1, most + 1, least + 0.5, Number.NaN]) {
    const s = new Script();
    expect(() => call(s, { [name]: value })).toThrow(`${name} must be an integer from ${least} to ${most}`);
    expect(s.sentKinds(), `${name} ${value}`).toEqual([]);
  }
}

describe('connect', () => {
  const connect = (s: Script, change: object) => s.cm.connect(s.now, { ...CONNECT, ...change });

  it.each<Range>([
    QPN,
    ['startingPsn', 0, 0xff_ff_ff],
    ['mtu', 1, 5],
    ['retryCount', 0, 7],
    ['rnrRetryCount', 0, 7],
    ['ackTimeout', 0, 31],
    ['localPort', 0, 0xff_ff],
    ['partitionKey', 0, 0xff_ff],
    ...DEPTHS,
    ...CM_TIMERS,
    ...IP_HEADER,
  ])('takes a %s from %i to %i', (...range) => expectRange(range, connect));

  it('has room for 56 bytes of private data behind the header of RDMA CM, for 92 without it', () => {
    const withData = (bytes: number, serviceId = SERVICE) =>
      connect(new Script(), { serviceId, privateData: new Uint8Array(bytes) });
    expect(() => withData(56)).not.toThrow();
    expect(() => withData(57)).toThrow('REQ has room for 56 bytes of private data, not 57');
    expect(() => withData(92, 7n)).not.toThrow();
    expect(() => withData(93, 7n)).toThrow('REQ has room for 92 bytes of private data, not 93');
  });

  it('takes a service id of 64 bits and two addresses of one version', () => {
    expect(() => connect(new Script(), { serviceId: 2n ** 64n - 1n })).not.toThrow();
    for (const serviceId of [-1n, 2n ** 64n])
      expect(() => connect(new Script(), { serviceId })).toThrow('serviceId must be an unsigned 64-bit number');
    expect(() => connect(new Script(), { remote: IpAddress.parse('fd00::1') })).toThrow('differ in IP version');
  });
});

describe('accept', () => {
  it.each<Range>([QPN, ['startingPsn', 0, 0xff_ff_ff], ['rnrRetryCount', 0, 7], ...DEPTHS])(
    'takes a %s from %i to %i',
    (...range) =>
      expectRange(range, (s, change) => {
        s.cm.listen(SERVICE, 1);
        s.receive({ kind: 'REQ', body: reqBody() });
        s.cm.accept(s.now, s.event('connect-request').id, { ...ACCEPT, ...change });
      }),
  );
});

describe('resolve', () => {
  const RESOLVE: ResolveParameters = { serviceId: SERVICE, local: US, remote: PEER, localPort: 1 };

  it.each<Range>([['localPort', 0, 0xff_ff], ['partitionKey', 0, 0xff_ff], ...CM_TIMERS])(
    'takes a %s from %i to %i',
    (...range) => expectRange(range, (s, change) => s.cm.resolve(s.now, { ...RESOLVE, ...change })),
  );

  it('has room for 180 bytes of private data behind the header of RDMA CM, for 216 without it', () => {
    const withData = (bytes: number, serviceId = SERVICE) => {
      const s = new Script();
      return s.cm.resolve(s.now, { ...RESOLVE, serviceId, privateData: new Uint8Array(bytes) });
    };
    expect(() => withData(180)).not.toThrow();
    expect(() => withData(181)).toThrow('SIDR_REQ has room for 180 bytes');
    expect(() => withData(216, 7n)).not.toThrow();
    expect(() => withData(217, 7n)).toThrow('SIDR_REQ has room for 216 bytes');
  });
});

describe('loadAlternatePath', () => {
  const PATH: AlternatePath = {
    ...{ local: US, remote: PEER, flowLabel: 0, trafficClass: 0, hopLimit: 64, ackTimeout: 14 },
  };

  it.each<Range>([['ackTimeout', 0, 31], ...IP_HEADER])('takes a %s from %i to %i', (...range) =>
    expectRange(range, (s, change) => {
      const id = s.connected();
      s.cm.loadAlternatePath(s.now, id, { ...PATH, ...change });
    }),
  );
});

describe('what an application sets up', () => {
  it.each<Range>([
    ['maxPending', 1, 2 ** 24],
    ['maxPendingPerSource', 1, 2 ** 24],
    ['maxUnprovenReps', 0, 15],
    ['maxTransmits', 1, 2 ** 24],
  ])('has a %s from %i to %i', (name, least, most) => {
    for (const value of [least, most]) expect(() => new Script({ [name]: value })).not.toThrow();
    for (const value of [least - 1, most + 1]) expect(() => new Script({ [name]: value })).toThrow(name);
  });

  it('has a backlog of 1 at least, for connections and for datagram services', () => {
    const { cm } = new Script();
    for (const backlog of [0, 2 ** 24 + 1]) {
      expect(() => cm.listen(SERVICE, backlog)).toThrow('backlog must be an integer from 1 to 16777216');
      expect(() => cm.listenSidr(SERVICE, backlog)).toThrow('backlog must be an integer from 1 to 16777216');
    }
    cm.listen(SERVICE, 1);
    cm.listenSidr(SERVICE, 2 ** 24);
  });
});

it('takes no call of an earlier time than the one before', () => {
  const s = new Script();
  const id = s.connected();
  const { cm } = s;
  const before = s.now - 1;
  const local = { local: US, remote: PEER };
  const calls: readonly (() => unknown)[] = [
    () => cm.connect(before, CONNECT),
    () => cm.accept(before, id, ACCEPT),
    () => cm.ready(before, id),
    () => cm.reject(before, id),
    () => cm.sendMra(before, id, 1),
    () => cm.loadAlternatePath(before, id, { ...local, flowLabel: 0, trafficClass: 0, hopLimit: 1, ackTimeout: 1 }),
    () => cm.answerAlternatePath(before, id, 0),
    () => cm.answerSidr(before, id, { status: 1 }),
    () => cm.resolve(before, { ...local, serviceId: SERVICE, localPort: 1 }),
    () => cm.disconnect(before, id),
    () => cm.notifyTraffic(before, 2),
    () => cm.destroy(before, id),
    () => cm.handleTimeout(before),
    () =>
      cm.handleMad(before, new DataView(new ArrayBuffer(256)), 0, 256, {
        ...{ source: PEER, destination: US, sourceQpn: 1 },
      }),
  ];
  for (const call of calls) expect(call).toThrow('time does not go back');
  expect([s.sentKinds(), cm.state(id)]).toEqual([[], 'established']);
});
