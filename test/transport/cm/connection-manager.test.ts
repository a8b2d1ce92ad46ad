import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CmMessage, CmParseStatus, writeCmMad } from '../../../packets/cm/index.ts';
import { MAD_BYTES } from '../../../packets/mad.ts';
import { CmInputStatus, cmInputStatusName } from '../../../transport/cm/index.ts';
import { arbitraryMessage, CM_KINDS } from '../../packets/cm/harness.ts';
import {
  ACCEPT,
  CONNECT,
  OUR_GUID,
  PEER,
  PEER_GUID,
  PEER_ID,
  reqBody,
  Script,
  SERVICE,
  STRANGER,
  T,
  US,
} from './harness.ts';

describe('the envelope of what comes in', () => {
  it('counts every cause under its own name', () => {
    const s = new Script();
    const mad = (at: number, value: number, length = MAD_BYTES) => {
      const bytes = new Uint8Array(length);
      const whole = new Uint8Array(MAD_BYTES);
      writeCmMad(new DataView(whole.buffer), 0, 1n, { kind: 'REQ', body: reqBody() });
      whole[at] = value;
      bytes.set(whole.subarray(0, length));
      return bytes;
    };
    // CM-25
    expect(s.receiveBytes(mad(0, 1, 255))).toBe(CmInputStatus.BadLength);
    expect(s.receiveBytes(mad(0, 1, 257))).toBe(CmInputStatus.BadLength);
    expect(s.receiveBytes(mad(0, 2))).toBe(CmInputStatus.BadBaseVersion);
    expect(s.receiveBytes(mad(1, 4))).toBe(CmInputStatus.NotCm);
    // CM-22: silence
    expect(s.receiveBytes(mad(2, 3))).toBe(CmInputStatus.BadClassVersion);
    expect(s.receiveBytes(mad(3, 1))).toBe(CmInputStatus.BadMethod);
    expect(s.receiveBytes(mad(17, 0x30))).toBe(CmInputStatus.UnknownAttribute);
    expect(s.receiveBytes(mad(0, 1), { sourceQpn: 17 })).toBe(CmInputStatus.BadSourceQpn);
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.counters()).toMatchObject({
      Ok: 0,
      BadLength: 2,
      BadBaseVersion: 1,
      NotCm: 1,
      BadClassVersion: 1,
      BadMethod: 1,
      UnknownAttribute: 1,
      BadSourceQpn: 1,
    });
  });

  it('uses the numbers of the parser for its first statuses', () => {
    for (const [name, value] of Object.entries(CmParseStatus)) {
      expect(cmInputStatusName(value)).toBe(name);
    }
  });

  it('accepts a MAD anywhere in a larger buffer', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 1);
    const bytes = new Uint8Array(1000).fill(0xff);
    writeCmMad(new DataView(bytes.buffer), 333, 1n, { kind: 'REQ', body: reqBody() });
    const origin = { source: PEER, destination: US, sourceQpn: 1 };
    expect(s.cm.handleMad(s.now, new DataView(bytes.buffer), 333, MAD_BYTES, origin)).toBe(CmInputStatus.Ok);
    bytes.fill(0);
    // The event does not look into the receive buffer any more.
    expect(s.event('connect-request').request).toEqual(reqBody());
  });
});

describe('the transmit queue', () => {
  it('is bounded, and says what it dropped', () => {
    const s = new Script({ maxTransmits: 4 });
    for (let i = 0; i < 10; i++) s.receive({ kind: 'REQ', body: reqBody() });
    expect(s.sentKinds()).toEqual(['REJ 8', 'REJ 8', 'REJ 8', 'REJ 8']);
    expect(s.cm.counters()).toMatchObject({ NoListener: 10, transmitsDropped: 6 });
  });
});

const DATAGRAMS = 0x1000_0000_0000_0001n;
const ALTERNATE = { local: US, remote: PEER, flowLabel: 1, trafficClass: 0, hopLimit: 64, ackTimeout: 14 };

/** Ids that a hostile peer may know or guess. */
const ids = fc.constantFrom(0, PEER_ID, PEER_ID + 1, 0x3333);
const origin = fc.record({
  source: fc.constantFrom(PEER, PEER, PEER, STRANGER),
  sourceQpn: fc.constantFrom(1, 1, 1, 7),
});

type Step =
  | {
      readonly do: 'message';
      readonly message: CmMessage;
      readonly ours: number;
      readonly from: { source: typeof PEER; sourceQpn: number };
    }
  | { readonly do: 'bytes'; readonly bytes: Uint8Array }
  | { readonly do: 'application'; readonly choice: number }
  | { readonly do: 'wait'; readonly ns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('message' as const),
      message: fc
        .constantFrom(...CM_KINDS)
        .chain(arbitraryMessage)
        .chain((message) =>
          fc
            .record({ localCommId: ids, likeReal: fc.boolean(), reason: fc.constantFrom(4, 10, 28) })
            .map(({ localCommId, likeReal, reason }) => aimed(message, localCommId, likeReal, reason)),
        ),
      ours: fc.nat(5),
      from: origin,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('bytes' as const), bytes: fc.uint8Array({ maxLength: 300 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('application' as const), choice: fc.nat(14) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ns: fc.integer({ min: 0, max: 8 * T }) }) },
);

/** Gives a random message values that get it past the first checks. */
function aimed(message: CmMessage, localCommId: number, likeReal: boolean, reason: number): CmMessage {
  if (!likeReal) return message;
  if (message.kind === 'REQ')
    return { kind: 'REQ', body: reqBody({ localCommId, localQpn: 0x20 + (localCommId & 3) }) };
  const more = { serviceId: DATAGRAMS, requestId: localCommId, messageMraed: localCommId & 3 };
  const body = { ...message.body, ...more, localCommId, localCaGuid: PEER_GUID, reason, remoteQpn: ACCEPT.qpn };
  return { ...message, body } as CmMessage;
}

/** Lets the application do something with one of the connections it knows. */
function act(s: Script, known: number[], choice: number): void {
  const id = known[choice % Math.max(1, known.length)] ?? 1;
  const calls: readonly (() => void)[] = [
    () => known.push(s.cm.connect(s.now, CONNECT)),
    () => s.cm.accept(s.now, id, ACCEPT),
    () => s.cm.reject(s.now, id),
    () => s.cm.sendMra(s.now, id, 12),
    () => s.cm.ready(s.now, id),
    () => s.cm.disconnect(s.now, id),
    () => s.cm.destroy(s.now, id),
    () => void s.cm.notifyTraffic(s.now, ACCEPT.qpn),
    () => s.cm.accept(s.now, id, ACCEPT),
    () => s.cm.ready(s.now, id),
    () => known.push(s.cm.resolve(s.now, { ...CONNECT, serviceId: DATAGRAMS })),
    () => s.cm.answerSidr(s.now, id, { qpn: 77, qkey: 1 }),
    () => s.cm.answerSidr(s.now, id, { status: 2 }),
    () => s.cm.loadAlternatePath(s.now, id, ALTERNATE),
    () => s.cm.answerAlternatePath(s.now, id, 0),
  ];
  try {
    calls[choice]?.();
  } catch (error) {
    // Calls in the wrong state are the script's own mistakes; anything else is ours.
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_ROCE_STATE') throw error;
  }
}

describe('against anything a peer can send', () => {
  it('never throws, keeps its tables bounded, and ends with nothing left', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const s = new Script({ maxPending: 3, requestLifetimeNs: 20 * T, caGuid: OUR_GUID });
        s.cm.listen(SERVICE, 2);
        s.cm.listenSidr(DATAGRAMS, 2);
        const known: number[] = [];
        for (const one of steps) {
          if (one.do === 'bytes') s.receiveBytes(one.bytes);
          else if (one.do === 'wait') s.advance(one.ns);
          else if (one.do === 'application') act(s, known, one.choice);
          else {
            const remoteCommId = known[one.ours] ?? one.ours;
            const body = 'remoteCommId' in one.message.body ? { ...one.message.body, remoteCommId } : one.message.body;
            s.receive({ ...one.message, body } as CmMessage, 1n, one.from);
          }
          for (const event of s.events()) if (!known.includes(event.id)) known.push(event.id);
          expect(s.cm.pendingCount).toBeLessThanOrEqual(3);
          expect(s.sent().length).toBeLessThanOrEqual(40);
        }
        for (const id of known) s.cm.destroy(s.now, id);
        for (const id of known) s.cm.cancelResolve(id);
        s.advance(200_000_000_000);
        expect(s.cm.size).toBe(0);
        expect(s.cm.pendingCount).toBe(0);
        expect(s.cm.pollTimeout()).toBe(Number.POSITIVE_INFINITY);
      }),
      { numRuns: 300 },
    );
  });
});
