/**
 * Goal: the playground's engine shows the real stack packet by packet, obeys the hand of who plays, and repeats itself
 * to the byte. Method: small scenarios whose packets are known, compared as ladders; every way to the same place must
 * give the same place.
 */
import { describe, expect, it } from 'vitest';
import { PlaygroundSession, parseScenario } from '../../../../tools/explorer/playground/index.ts';

function begin(scenario: object): PlaygroundSession {
  return new PlaygroundSession(parseScenario(scenario));
}

/** "A Send Only 100", "B NAK 101", one for each packet. */
function ladder(session: PlaygroundSession): string[] {
  return session.packets().map(({ from, name, psn, kind, state, again, copyOf }) => {
    const what =
      { ack: 'ACK', nak: 'NAK', 'rnr-nak': 'RNR NAK', cnp: 'CNP' }[kind as string] ??
      name.replace(/^RC |^UC |^UD /, '');
    const marks = `${again ? ' again' : ''}${copyOf > 0 ? ' copy' : ''}${state === 'lost' ? ' lost' : ''}`;
    return `${'ABCD'[from]} ${what} ${psn}${marks}`;
  });
}

function statuses(session: PlaygroundSession, host: number): (readonly [number, string])[] {
  return session.snapshot().hosts[host]?.completions.map(({ wrId, statusName }) => [wrId, statusName] as const) ?? [];
}

function notes(session: PlaygroundSession, kind: string): string[] {
  return session.steps.flatMap((step) => step.notes.filter((note) => note.kind === kind).map(({ text }) => text));
}

const WRITE = { operations: [{ kind: 'write', bytes: 4096 }] };

describe('a session', () => {
  it('takes a SEND one packet at a time', () => {
    const session = begin({});
    session.run();
    expect(session.steps.map(({ kind, host }) => `${kind} ${host}`)).toEqual([
      'posted 0',
      'sent 0',
      'delivered 1',
      'sent 1',
      'delivered 0',
    ]);
    expect(ladder(session)).toEqual(['A SEND Only 100', 'B ACK 100']);
    expect(statuses(session, 0)).toEqual([[2, 'success']]);
    expect(statuses(session, 1)).toEqual([[1, 'success']]);
    expect(session.over).toBe(true);
    expect(session.step()).toBeUndefined();
  });

  it('shows both machines while a message is under way', () => {
    const session = begin(WRITE);
    session.run(3);
    const snapshot = session.snapshot();
    const [a, b] = snapshot.hosts.map(({ queuePairs }) => queuePairs[0]);
    expect(a).toMatchObject({ stateName: 'RTS', requester: { nextPsn: 102, sentPsn: 102, unackedPsn: 100 } });
    expect(a?.sends).toMatchObject([{ firstPsn: 100, lastPsn: 103, length: 4096 }]);
    expect(a?.timers).toEqual([{ name: 'ACK timeout', deadlineNs: 64 * 4096 }]);
    expect(b?.responder).toMatchObject({ expectedPsn: 100, msn: 0, nakked: false });
    expect(snapshot.inFlight.map(({ psn }) => psn)).toEqual([100, 101]);
    expect(session.peek()).toMatchObject({ psn: 101, name: 'RC RDMA WRITE Middle', state: 'flying' });
  });

  it('shows what a packet has changed in memory, and nothing older', () => {
    const session = begin(WRITE);
    session.run(5);
    session.step();
    const exposed = () => session.snapshot().hosts[1]?.memory.find(({ name }) => name === 'exposed');
    expect(session.steps.at(-1)).toMatchObject({ kind: 'delivered', host: 1 });
    expect(exposed()?.changed).toEqual([{ start: 0, end: 1021 }]);
    expect(new TextDecoder().decode(exposed()?.bytes.subarray(0, 8))).toBe('A000A001');
    session.step();
    expect(exposed()?.changed).toEqual([{ start: 1024, end: 2045 }]);
  });

  it('drops the packet under way, and the stack goes back from there', () => {
    const session = begin(WRITE);
    session.run(4);
    expect(session.peek()?.psn).toBe(102);
    expect(session.drop()).toBe(true);
    session.run();
    expect(ladder(session)).toEqual([
      'A RDMA WRITE First 100',
      'A RDMA WRITE Middle 101',
      'A RDMA WRITE Middle 102 lost',
      'A RDMA WRITE Last 103',
      'B NAK 102',
      'A RDMA WRITE Middle 102 again',
      'A RDMA WRITE Last 103 again',
      'B ACK 103',
    ]);
    expect(statuses(session, 0)).toEqual([[1, 'success']]);
    expect(notes(session, 'out-of-sequence')).toHaveLength(1);
    expect(notes(session, 'retry')).toEqual([expect.stringContaining('goes back to PSN 102')]);
  });

  it('passes a damaged packet over in silence', () => {
    const session = begin(WRITE);
    session.run(2);
    expect(session.corrupt()).toBe(true);
    session.run();
    expect(notes(session, 'icrc')).toEqual(['B finds the ICRC wrong: it drops the packet without a word']);
    expect(session.details(1)?.icrcOk).toBe(true);
    expect(session.details(1, 'arrived')?.icrcOk).toBe(false);
    expect(ladder(session)).toContain('B NAK 100');
    expect(statuses(session, 0)).toEqual([[1, 'success']]);
  });

  it('lets a packet arrive twice, which executes nothing twice', () => {
    const session = begin({ operations: [{ kind: 'fetch-add' }] });
    session.run(2);
    expect(session.duplicate()).toBe(true);
    session.run();
    expect(ladder(session).filter((line) => line.includes('copy'))).toEqual(['A FetchAdd 100 copy']);
    expect(notes(session, 'duplicate')).toHaveLength(1);
    const counters = session.snapshot().hosts[1]?.memory.find(({ name }) => name === 'counters');
    expect([...(counters?.bytes.subarray(0, 8) ?? [])]).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('lets both copies of a damaged packet be damaged', () => {
    const session = begin({});
    session.run(2);
    session.corrupt();
    session.duplicate();
    session.run();
    expect(notes(session, 'icrc')).toHaveLength(2);
    expect(statuses(session, 1)).toHaveLength(1);
  });

  it('posts what was meant for a later step when nothing else happens any more', () => {
    const session = begin({ operations: [{ kind: 'send' }, { kind: 'send', atStep: 900 }] });
    session.run();
    expect(session.position).toBe(10);
    expect(statuses(session, 0)).toHaveLength(2);
  });

  it('holds a packet back so that later ones overtake it', () => {
    const session = begin(WRITE);
    session.run(2);
    expect(session.delay(1, 50_000)).toBe(true);
    session.run();
    expect(session.steps.filter(({ kind }) => kind === 'delayed')).toHaveLength(1);
    expect(ladder(session)).toContain('B NAK 100');
    expect(notes(session, 'duplicate').length).toBeGreaterThan(0);
    expect(statuses(session, 0)).toEqual([[1, 'success']]);
  });

  it('marks a packet, which draws a CNP and slows its sender down', () => {
    const session = begin({ ...WRITE, congestion: {} });
    session.run(2);
    expect(session.act('mark')).toBe(true);
    session.run();
    expect(ladder(session)).toContain('B CNP -1');
    expect(notes(session, 'notified')).toHaveLength(1);
    const rate = session.snapshot().hosts[0]?.queuePairs[0]?.rate;
    expect(rate?.rateBps).toBeLessThan(10e9);
  });

  it('does nothing to a packet that is not under way, and nothing twice', () => {
    const session = begin({});
    expect(session.drop()).toBe(false);
    session.run(2);
    expect(session.drop()).toBe(true);
    expect(session.drop()).toBe(false);
    session.run();
    expect(session.drop(1)).toBe(false);
    expect(session.drop(99)).toBe(false);
    expect(session.scenario.interventions).toEqual([{ host: 0, packet: 1, action: 'drop' }]);
  });

  it('gives the connection up when retries are used up', () => {
    const interventions = [1, 2, 3, 4].map((packet) => ({ host: 0, packet, action: 'drop' }));
    const session = begin({ interventions });
    session.run();
    expect(ladder(session)).toHaveLength(4);
    expect(session.steps.filter(({ kind }) => kind === 'timer')).toHaveLength(4);
    expect(statuses(session, 0)).toEqual([[2, 'transport retry counter exceeded']]);
    expect(session.snapshot().hosts[0]?.queuePairs[0]?.stateName).toBe('ERR');
  });

  it('waits for a receive, and says when the pause is over', () => {
    const operations = [
      { kind: 'send', receive: false },
      { kind: 'recv', side: 1, atNs: 30_000 },
    ];
    const session = begin({ operations });
    session.run();
    expect(ladder(session)).toEqual(['A SEND Only 100', 'B RNR NAK 100', 'A SEND Only 100 again', 'B ACK 100']);
    expect(notes(session, 'rnr-wait')).toHaveLength(1);
    expect(notes(session, 'rnr-over')).toEqual(['The pause is over: A tries again']);
  });

  it.each([
    ['rkey', 'remote access error'],
    ['range', 'remote access error'],
    ['right', 'remote access error'],
  ])('gets a NAK for a WRITE with a wrong %s', (mistake, status) => {
    const session = begin({ operations: [{ kind: 'write', mistake }] });
    session.run();
    expect(ladder(session)).toEqual(['A RDMA WRITE Only 100', 'B NAK 100']);
    expect(statuses(session, 0)).toEqual([[1, status]]);
    expect(session.snapshot().hosts.map(({ queuePairs }) => queuePairs[0]?.stateName)).toEqual(['ERR', 'ERR']);
  });

  it('loses quietly over UC and UD', () => {
    const uc = begin({ qp: { service: 'uc' }, ...WRITE, interventions: [{ host: 0, packet: 2, action: 'drop' }] });
    uc.run();
    expect(ladder(uc)).toHaveLength(4);
    expect(statuses(uc, 0)).toEqual([[1, 'success']]);
    expect(notes(uc, 'unreliable-loss')).toHaveLength(1);
    const ud = begin({ qp: { service: 'ud' }, operations: [{ kind: 'send', count: 2 }] });
    ud.run();
    expect(ladder(ud)).toEqual(['A SEND Only 100', 'A SEND Only 101']);
    expect(ud.snapshot().hosts[1]?.completions.map(({ byteLen }) => byteLen)).toEqual([104, 104]);
  });

  it('carries every operation that the stack has', () => {
    const kinds = ['send', 'send-imm', 'write', 'write-imm', 'read', 'fetch-add', 'cmp-swap', 'atomic-write', 'flush'];
    const session = begin({ operations: kinds.map((kind) => ({ kind })) });
    session.run();
    expect(statuses(session, 0).map(([, status]) => status)).toEqual(kinds.map(() => 'success'));
  });

  it('puts several messages one behind the other, on both sides', () => {
    for (const kind of ['send', 'write'] as const) {
      const session = begin({ operations: [{ kind, bytes: 64, count: 2, offset: 128 }] });
      session.run();
      const name = kind === 'send' ? 'incoming' : 'exposed';
      const memory = session.snapshot().hosts[1]?.memory.find((region) => region.name === name);
      expect(new TextDecoder().decode(memory?.bytes.subarray(188, 196))).toBe('A047A048');
    }
  });

  it('has no more packets out than it may', () => {
    const session = begin({ ...WRITE, qp: { maxUnacked: 2 } });
    const most = () => session.snapshot().inFlight.filter(({ from }) => from === 0).length;
    let seen = 0;
    while (session.step() !== undefined) seen = Math.max(seen, most());
    expect(seen).toBe(2);
  });

  it('wraps PSNs', () => {
    const session = begin({ ...WRITE, qp: { firstPsn: 0xff_ff_fe } });
    session.run();
    expect(session.packets().map(({ psn }) => psn)).toEqual([0xff_ff_fe, 0xff_ff_ff, 0, 1, 1]);
  });
});

describe('going back', () => {
  it('leads to where one was, step by step', () => {
    const session = begin({ ...WRITE, link: { loss: 0.2 }, seed: 7 });
    const seen: string[] = [];
    // Whether there is more is known only to who has asked for it.
    const shown = () => JSON.stringify({ ...session.snapshot(), end: '' }, plain);
    do seen.push(shown());
    while (session.step() !== undefined);
    for (let position = seen.length - 1; position >= 0; position--) {
      session.goTo(position);
      expect(shown()).toBe(seen[position]);
    }
    expect(session.position).toBe(0);
    session.back();
    expect(session.position).toBe(0);
  });

  it('keeps what was done by hand, until it is taken back', () => {
    const session = begin(WRITE);
    session.run(4);
    session.drop();
    session.run();
    session.goTo(3);
    session.run();
    expect(ladder(session)).toContain('B NAK 102');
    session.goTo(4);
    session.undo(0);
    expect(session.position).toBe(4);
    session.run();
    expect(ladder(session)).toHaveLength(5);
  });

  it('posts by hand, as a step that a link repeats', () => {
    const session = begin({});
    session.run(3);
    expect(session.post({ kind: 'read', bytes: 2000 })).toMatchObject({ number: 4, kind: 'posted', host: 0 });
    session.run();
    expect(session.post({ kind: 'send', side: 1 })).toMatchObject({ kind: 'posted', host: 1 });
    session.run();
    expect(() => session.post({ kind: 'send', connection: 1 })).toThrow('there is no connection 1');
    expect(() => session.post({ kind: 'write', bytes: 20_000 })).toThrow('needs 20000 bytes of memory');
    const again = PlaygroundSession.fromLink(session.link());
    expect('session' in again && ladder(again.session)).toEqual(ladder(session));
    expect('session' in again && again.session.steps).toEqual(session.steps);
  });
});

describe('many hosts', () => {
  it('marks what waits behind a slow receiver, and its senders slow down', () => {
    const session = begin({
      hosts: 4,
      memoryBytes: 100_096,
      link: { ecn: { kminBytes: 2000, kmaxBytes: 20_000, pmax: 1 } },
      congestion: {},
      connections: [0, 1, 2].map((from) => ({ from, to: 3 })),
      operations: [0, 1, 2].map((connection) => ({ kind: 'write', connection, bytes: 60_000 })),
    });
    session.runUntil(() => notes(session, 'notified').length >= 3);
    const rates = session
      .snapshot()
      .hosts.slice(0, 3)
      .map(({ queuePairs }) => queuePairs[0]?.rate?.rateBps ?? 0);
    expect(rates.every((rate) => rate > 0 && rate < 10e9)).toBe(true);
    session.run();
    for (const host of [0, 1, 2]) expect(statuses(session, host)).toEqual([[expect.any(Number), 'success']]);
    const notices = session.packets().filter(({ kind, to }) => kind === 'cnp' && to === 0);
    const distances = notices.slice(1).map(({ sentNs }, index) => sentNs - (notices[index]?.sentNs ?? 0));
    expect(distances.length).toBeGreaterThan(0);
    // Fifty microseconds from one CNP to the next; a busy cable may hold one up a little.
    expect(Math.min(...distances)).toBeGreaterThan(48_000);
  });

  it('take turns in one instant', () => {
    const session = begin({
      hosts: 4,
      connections: [
        { from: 0, to: 1 },
        { from: 2, to: 3 },
      ],
      operations: [0, 1].map((connection) => ({ kind: 'write', connection })),
    });
    session.run();
    const steps = session.steps.map(({ kind, host, timeNs }) => `${timeNs} ${kind} ${'ABCD'[host]}`);
    expect(steps.slice(0, 8)).toEqual([
      '0 posted A',
      '0 sent A',
      '0 posted C',
      '0 sent C',
      '2222 delivered B',
      '2222 sent B',
      '2222 delivered D',
      '2222 sent D',
    ]);
  });

  it('do one thing at a time, however much falls into one instant', () => {
    const session = begin({
      hosts: 5,
      seed: 3,
      link: { loss: 0.1, duplicate: 0.5, reorder: 0.3, ecn: { kminBytes: 1000 } },
      qp: { mtu: 256, timeout: 1, retryCnt: 7 },
      congestion: {},
      connections: [0, 1, 2, 3].map((from) => ({ from, to: 4 })),
      operations: [0, 1, 2, 3].map((connection) => ({ kind: 'send', connection, bytes: 4000, count: 2 })),
    });
    session.run(1_500);
    expect(session.position).toBe(1_500);
    const sent = session.steps.filter(({ kind }) => kind === 'sent').map(({ serial }) => serial);
    const over = session.steps
      .filter(({ kind }) => kind === 'delivered' || kind === 'lost')
      .map(({ serial }) => serial);
    expect(new Set(sent).size).toBe(sent.length);
    expect(new Set(over).size).toBe(over.length);
    const packets = session.packets();
    expect(over.length).toBe(packets.filter(({ state }) => state !== 'flying').length);
    expect(sent.length).toBe(packets.filter(({ copyOf }) => copyOf === 0).length);
    const times = session.steps.map(({ timeNs }) => timeNs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('loses what finds a queue full', () => {
    const session = begin({
      hosts: 3,
      memoryBytes: 60_160,
      link: { queueBytes: 8192 },
      connections: [0, 1].map((from) => ({ from, to: 2 })),
      operations: [0, 1].map((connection) => ({ kind: 'write', connection, bytes: 60_000 })),
    });
    session.run();
    expect(session.packets().filter(({ lossReason }) => lossReason === 'queue full').length).toBeGreaterThan(0);
    for (const host of [0, 1]) expect(statuses(session, host)).toEqual([[expect.any(Number), 'success']]);
  });
});

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return value.reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, 0);
  return value === Infinity ? 'never' : value;
}
