import { describe, expect, it } from 'vitest';
import { ACCEPT, CONNECT, PEER_ID, reqBody, Script, SERVICE, T } from './harness.ts';

describe('an application that does not decide', () => {
  it('loses the request after its lifetime, and a late accept is its mistake', () => {
    const s = new Script({ requestLifetimeNs: 5 * T });
    const id = s.requested();
    s.advance(5 * T - 1);
    expect(s.eventTypes()).toEqual([]);
    s.advance(1);
    expect(s.event('unreachable')).toMatchObject({ id, waitingFor: 'application' });
    expect(s.sentKinds()).toEqual([]);
    expect(() => s.cm.accept(s.now, id, ACCEPT)).toThrow('there is no connection');
    // The backlog has its place back, however often.
    for (let i = 0; i < 20; i++) {
      expect(s.receive({ kind: 'REQ', body: reqBody() })).toBe('Ok');
      s.advance(5 * T);
      expect(s.eventTypes()).toEqual(['connect-request', 'unreachable']);
    }
    expect(s.receive({ kind: 'REQ', body: reqBody() })).toBe('Ok');
  });
});

describe('what an inspection says of the next deadline', () => {
  it('happens at that time: repetitions, then the end', () => {
    const s = new Script({ maxUnprovenReps: 2 });
    const id = s.accepted();
    const told: string[] = [];
    for (let seen = s.cm.inspect(id); seen !== undefined; seen = s.cm.inspect(id)) {
      s.sent();
      told.push(`${seen.next} ${seen.retriesLeft}`);
      s.advance(seen.deadline - s.now - 1);
      expect([s.sentKinds(), s.eventTypes()]).toEqual([[], []]);
      s.advance(1);
      const kinds = s.sentKinds();
      expect(kinds).toEqual({ repeat: ['REP'], wait: [], expire: ['REJ 4'] }[seen.next]);
    }
    // Two repetitions for a peer that has not shown that it is there; then it is only waited for.
    expect(told).toEqual(['repeat 3', 'repeat 2', 'wait 1', 'expire 0']);
    expect(s.eventTypes()).toEqual(['unreachable']);
  });

  it('is nothing, without end, while the application has the word or all is well', () => {
    const s = new Script();
    const id = s.established();
    expect(s.cm.inspect(id)).toMatchObject({ state: 'established', deadline: Number.POSITIVE_INFINITY });
    expect(s.cm.inspect(id + 1)).toBeUndefined();
    s.cm.disconnect(s.now, id);
    expect(s.cm.inspect(id)).toMatchObject({ state: 'dreq-sent', next: 'repeat', deadline: s.now + T });
  });
});

describe('destroy', () => {
  it('tells the peer what it must know in every state, and reports nothing more', () => {
    const cases: readonly (readonly [string, (s: Script) => number, readonly string[]])[] = [
      ['req-sent', (s) => s.connecting(), ['REJ 4']],
      ['req-rcvd', (s) => s.requested(), ['REJ 28']],
      ['rep-sent', (s) => s.accepted(), ['REJ 28']],
      ['established', (s) => s.established(), ['DREQ']],
      ['established', (s) => s.connected(), ['DREQ']],
    ];
    for (const [state, prepare, answer] of cases) {
      const s = new Script();
      const id = prepare(s);
      expect(s.cm.state(id)).toBe(state);
      s.cm.destroy(s.now, id);
      expect(s.sentKinds()).toEqual(answer);
      s.cm.destroy(s.now, id);
      expect(s.sentKinds()).toEqual([]);
      s.advance(1000 * T);
      expect(s.eventTypes()).toEqual([]);
      expect(s.cm.size).toBe(0);
      expect(s.cm.pendingCount).toBe(0);
    }
  });

  it('of a response rejects it, and of an ending connection lets it end', () => {
    const s = new Script();
    const id = s.connecting();
    s.receive(s.rep(id));
    s.events();
    s.cm.destroy(s.now, id);
    expect(s.sentOne('REJ').body).toMatchObject({ messageRejected: 1, reason: 28, remoteCommId: PEER_ID });
    const other = new Script();
    const ending = other.established();
    other.cm.disconnect(other.now, ending);
    other.cm.destroy(other.now, ending);
    other.sent();
    expect(other.receive(other.drep(ending))).toBe('Ok');
    other.advance(100 * T);
    expect(other.eventTypes()).toEqual([]);
    expect(other.cm.size).toBe(0);
  });

  it('of an unknown id is fine', () => {
    const s = new Script();
    s.cm.destroy(s.now, 12345);
    expect(s.sentKinds()).toEqual([]);
  });
});

describe('what the peer asks for', () => {
  it('is capped: response timeout and TIMEWAIT cannot hold us for hours', () => {
    const s = new Script();
    const { primaryPath } = reqBody();
    const id = s.requested({
      localCmResponseTimeout: 31,
      maxCmRetries: 15,
      primaryPath: { ...primaryPath, localAckTimeout: 31 },
    });
    s.cm.accept(s.now, id, ACCEPT);
    s.sent();
    s.advance(16 * 4_294_967_296);
    // 15 repetitions were asked for; without a sign of the peer there are 7.
    expect(s.sentKinds()).toEqual([...new Array<string>(7).fill('REP'), 'REJ 4']);
    expect(s.eventTypes()).toEqual(['unreachable']);
    expect(s.cm.size).toBe(0);
  });

  it('never makes TIMEWAIT vanish', () => {
    const s = new Script();
    const { primaryPath } = reqBody();
    const id = s.requested({ primaryPath: { ...primaryPath, localAckTimeout: 0 } });
    s.cm.accept(s.now, id, ACCEPT);
    s.receive(s.rtu(id));
    s.receive(s.dreq(id));
    expect(s.cm.pollTimeout()).toBe(s.now + T);
  });
});

describe('misuse', () => {
  it('throws before anything has happened', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 1);
    expect(() => s.cm.listen(SERVICE, 1)).toThrow('has a listener');
    expect(() => s.cm.listen(1n, 0)).toThrow('backlog must be an integer');
    expect(() => s.cm.accept(s.now, 1, ACCEPT)).toThrow('there is no connection 1');
    const bad: readonly (readonly [object, string])[] = [
      [{ qpn: 1 }, 'qpn must be'],
      [{ mtu: 6 }, 'mtu must be'],
      [{ startingPsn: 2 ** 24 }, 'startingPsn must be'],
      [{ retryCount: 8 }, 'retryCount must be'],
      [{ ackTimeout: 32 }, 'ackTimeout must be'],
      [{ maxCmRetries: 16 }, 'maxCmRetries must be'],
      [{ flowLabel: 2 ** 20 }, 'flowLabel must be'],
      [{ initiatorDepth: 256 }, 'initiatorDepth must be'],
      [{ serviceId: -1n }, 'serviceId must be'],
      [{ privateData: new Uint8Array(57) }, 'room for 56 bytes of private data, not 57'],
      [{ serviceId: 0xffff_0000_0000_0000n, privateData: new Uint8Array(93) }, 'room for 92 bytes'],
    ];
    for (const [changes, message] of bad) {
      expect(() => s.cm.connect(s.now, { ...CONNECT, ...changes })).toThrow(message);
    }
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.size).toBe(0);
    const id = s.connecting();
    expect(() => s.cm.ready(s.now, id)).toThrow('is in state req-sent');
    expect(() => s.cm.disconnect(s.now, id)).toThrow('is in state req-sent');
    expect(() => s.cm.reject(s.now, id)).toThrow('is in state req-sent');
  });

  it('of accept leaves the request as it was', () => {
    const s = new Script();
    const id = s.requested();
    expect(() => s.cm.accept(s.now, id, { ...ACCEPT, privateData: new Uint8Array(197) })).toThrow(
      'REP has room for 196 bytes of private data, not 197',
    );
    expect(() => s.cm.accept(s.now, id, { ...ACCEPT, qpn: 0 })).toThrow('qpn must be');
    expect(s.cm.state(id)).toBe('req-rcvd');
    s.cm.accept(s.now, id, { ...ACCEPT, privateData: new Uint8Array(196) });
    expect(s.sentKinds()).toEqual(['REP']);
  });

  it('of time is our bug', () => {
    const s = new Script();
    s.cm.handleTimeout(100);
    expect(() => s.cm.handleTimeout(99)).toThrow('time does not go back');
  });
});
