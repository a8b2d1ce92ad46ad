/**
 * Goal: a link repeats a session to the byte, and nothing that is in a link does harm. Method: random scenarios through
 * a link and back, their captures compared; hostile and damaged links, which are refused in words or run within bounds.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeLink,
  encodeLink,
  PlaygroundSession,
  parseScenario,
  ScenarioError,
} from '../../../../tools/explorer/playground/index.ts';

const RC_KINDS = ['send', 'send-imm', 'write', 'write-imm', 'read', 'fetch-add', 'cmp-swap', 'atomic-write', 'recv'];

const SCENARIOS = fc.record({
  seed: fc.nat(),
  hosts: fc.constant(3),
  link: fc.record({
    loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
    corrupt: fc.double({ min: 0, max: 0.1, noNaN: true }),
    duplicate: fc.double({ min: 0, max: 0.2, noNaN: true }),
    reorder: fc.double({ min: 0, max: 0.2, noNaN: true }),
    rateBps: fc.constantFrom(1e9, 10e9, 100e9),
  }),
  qp: fc.record({
    mtu: fc.constantFrom(256, 1024, 4096),
    retryCnt: fc.integer({ min: 0, max: 7 }),
    firstPsn: fc.nat(0xff_ff_ff),
  }),
  congestion: fc.constantFrom({}, { profile: 'mlx' }),
  connections: fc.constant([
    { from: 0, to: 1 },
    { from: 2, to: 1 },
  ]),
  operations: fc.array(
    fc.record({
      kind: fc.constantFrom(...RC_KINDS),
      connection: fc.nat(1),
      side: fc.nat(1),
      bytes: fc.nat(3000),
      count: fc.integer({ min: 1, max: 3 }),
      atNs: fc.nat(50_000),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  interventions: fc.array(
    fc.record({
      host: fc.nat(2),
      packet: fc.integer({ min: 1, max: 20 }),
      action: fc.constantFrom('drop', 'corrupt', 'duplicate', 'delay', 'mark'),
    }),
    { maxLength: 4 },
  ),
});

describe('links', () => {
  it('give the same bytes again, whatever was played', () => {
    fc.assert(
      fc.property(SCENARIOS, fc.nat(300), (value, position) => {
        const session = new PlaygroundSession(parseScenario(value), position);
        session.act('drop');
        session.run(20);
        const again = PlaygroundSession.fromLink(session.link());
        expect('session' in again).toBe(true);
        if (!('session' in again)) return;
        expect(again.session.scenario).toEqual(session.scenario);
        expect(again.session.steps).toEqual(session.steps);
        expect(again.session.pcapng()).toEqual(session.pcapng());
        expect(again.session.link()).toBe(session.link());
      }),
      { numRuns: 20 },
    );
  });

  it('give the same steps again when a packet that is held back is dropped, at any step', () => {
    const value = {
      operations: [{ kind: 'write', bytes: 3000 }],
      interventions: [{ host: 0, packet: 2, action: 'delay' }],
    };
    for (let position = 1; position < 60; position++) {
      const session = new PlaygroundSession(parseScenario(value), position);
      session.act('drop');
      session.run(20);
      const again = PlaygroundSession.fromLink(session.link());
      expect('session' in again && again.session.steps).toEqual(session.steps);
    }
  });

  it('are short: defaults are left out', () => {
    expect(encodeLink({ scenario: parseScenario({}), position: 0 })).toBe(
      `#view=playground&play=1.${btoa('{"s":{}}').replace(/=+$/, '')}`,
    );
    const session = new PlaygroundSession(parseScenario({ operations: [{ kind: 'write', bytes: 4096 }] }), 4);
    session.drop();
    expect(session.link().length).toBeLessThan(200);
  });

  it('say what is wrong with them', () => {
    const error = (hash: string) => {
      const decoded = decodeLink(hash);
      return decoded.ok ? 'fine' : decoded.error;
    };
    const made = (value: unknown) => `#play=1.${btoa(JSON.stringify(value))}`;
    expect(error('#view=rates')).toBe('this is no link to a session');
    expect(error('#play=2.e30')).toContain("version '2'");
    expect(error('#play=1.!!!')).toContain('damaged');
    expect(error(`#play=1.${'A'.repeat(70_000)}`)).toContain('65536 characters at most');
    expect(error(made([]))).toBe('the link is an object');
    expect(error(made({ p: -1 }))).toContain('the position is a whole number');
    expect(error(made({ s: { hosts: 9 } }))).toBe('hosts is a whole number from 2 to 8');
    expect(error(made({ s: { qp: { mtu: 1500 } } }))).toBe('qp.mtu is one of 256, 512, 1024, 2048, 4096');
    expect(error(made({ s: { surprise: 1 } }))).toBe("scenario has no field 'surprise'");
    expect(error(made({ s: { operations: [{ kind: 'send', bytes: 1e9 }] } }))).toBe(
      'operations[0].bytes is a whole number from 0 to 262144',
    );
    expect(error(made({ s: { operations: [{ kind: 'send', connection: 1 }] } }))).toContain('there is no connection 1');
    expect(error(made({ s: { qp: { service: 'uc' }, operations: [{ kind: 'read' }] } }))).toBe(
      'operations[0].kind: uc has no read',
    );
    expect(error(made({ s: { interventions: new Array(257).fill({ packet: 1, action: 'drop' }) } }))).toBe(
      'interventions has 256 entries at most, not 257',
    );
    expect(error(made({ s: { connections: [{ from: 1, to: 1 }] } }))).toContain('joins a host to itself');
    expect(error(made({ s: { congestion: { parameters: { g: 2 } } } }))).toContain('g of DCQCN');
    expect(error(made({ s: { congestion: { parameters: { __proto__x: 2 } } } }))).toContain('no field');
    expect(error(made({ s: { link: { ecn: { pmax: 'all' } } } }))).toBe('link.ecn.pmax is a number from 0 to 1');
    expect(
      error(made({ s: { operations: Array.from({ length: 9 }, () => ({ kind: 'send', count: 64 })) } })),
    ).toContain('more than 512');
  });

  it('never throw, whatever they hold', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String(),
          fc.json().map((json) => safeBase64(json)),
        ),
        (body) => {
          const decoded = decodeLink(`#play=1.${body}`);
          if (!decoded.ok) expect(decoded.error).not.toBe('');
        },
      ),
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        try {
          parseScenario(value);
        } catch (error) {
          expect(error).toBeInstanceOf(ScenarioError);
        }
      }),
    );
  });

  it('end in bounded work, however much they ask for', () => {
    const operations = Array.from({ length: 8 }, (_, connection) => ({
      kind: 'write',
      connection: connection % 4,
      bytes: 0x4_00_00 / 2,
      count: 4,
    }));
    const greedy = parseScenario({
      hosts: 5,
      memoryBytes: 0x10_00_00,
      link: { loss: 0.9, duplicate: 1, reorder: 1 },
      qp: { mtu: 256, retryCnt: 7, rnrRetry: 7, timeout: 1 },
      connections: [0, 1, 2, 3].map((from) => ({ from, to: 4 })),
      operations,
    });
    const session = new PlaygroundSession(greedy, 1_000);
    expect(session.position).toBe(1_000);
    const endless = new PlaygroundSession(
      parseScenario({ qp: { rnrRetry: 7 }, operations: [{ kind: 'send', receive: false }] }),
      400,
    );
    expect(endless.position).toBe(400);
    const slow = new PlaygroundSession(
      parseScenario({ qp: { timeout: 31 }, interventions: [{ host: 0, packet: 1, action: 'drop' }] }),
    );
    slow.run();
    expect(slow.snapshot().end).toBe('too much time');
  });
});

function safeBase64(json: string): string {
  return btoa(Array.from(new TextEncoder().encode(json), (byte) => String.fromCharCode(byte)).join(''));
}
