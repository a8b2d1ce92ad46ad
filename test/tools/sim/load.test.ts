/**
 * Goal: a scenario that makes no sense is refused in one line with file, place and reason, and one that does is
 * complete. Method: a good file, one thing changed at a time.
 */
import { describe, expect, it } from 'vitest';
import { parseSetting } from '../../../tools/sim/run/plan.ts';
import type { Json } from '../../../tools/sim/scenario/json.ts';
import { builtInNames, loadScenario, readScenario } from '../../../tools/sim/scenario/load.ts';
import { SMALL, scenarioFile, small } from './support.ts';

function refusal(json: Json, ...settings: string[]): string {
  try {
    loadScenario({ path: 'file.json', json }, settings.map(parseSetting));
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  return 'not refused';
}

const LINK = { rateBps: 1e9, delayNs: 1000 };

describe('a bad scenario is refused with file, place and reason', () => {
  it.each<[string, Json, string]>([
    ['an unknown field', small({ colour: 'red' }), 'file.json: colour: unknown field'],
    [
      'an unknown field far down',
      small({ topology: { ...SMALL.topology, link: { ...LINK, jitterNs: 1 } } }),
      'file.json: topology.link.jitterNs: unknown field',
    ],
    [
      'a rate of zero',
      small({ topology: { ...SMALL.topology, link: { ...LINK, rateBps: 0 } } }),
      'file.json: topology.link.rateBps: A rate above 0 is expected, not 0',
    ],
    [
      'a negative delay',
      small({ topology: { ...SMALL.topology, link: { ...LINK, delayNs: -1 } } }),
      'file.json: topology.link.delayNs: A time of 0 or more is expected, not -1',
    ],
    [
      'an impossible topology',
      small({ topology: { kind: 'fat-tree', k: 3, link: LINK } }),
      'file.json: topology: k is 3: a fat tree has switches with an even number of ports',
    ],
    [
      'a topology in parts',
      small({
        topology: {
          kind: 'custom',
          hosts: ['a', 'b', 'c', 'd'],
          switches: [],
          links: [
            { a: 'a', b: 'b', ...LINK },
            { a: 'c', b: 'd', ...LINK },
          ],
        },
      }),
      'file.json: topology: c cannot be reached from a: the network is in parts',
    ],
    [
      'a kind of topology that is none',
      small({ topology: { kind: 'torus' } }),
      'file.json: topology.kind: One of star, dumbbell, leaf-spine, fat-tree, parking-lot, ring, custom is expected, not "torus"',
    ],
    [
      'a missing field',
      small({ topology: { kind: 'star', link: LINK } }),
      'file.json: topology.hosts: A whole number, 2 to 100000, is expected; it is missing',
    ],
    [
      'a host that is not there',
      small({ traffic: [{ pattern: 'incast', senders: 2, receiver: 7, bytes: 1 }] }),
      'file.json: traffic[0]: there is no host 7: hosts are 0 to 2',
    ],
    [
      'flows that never end in a run that never stops',
      small({ traffic: [{ pattern: 'incast', senders: 2, receiver: 2, bytes: 'endless' }] }),
      'file.json: traffic[0]: endless flows need a stopNs',
    ],
    [
      'a parameter out of its range',
      small({ congestion: { reaction: { kind: 'dcqcn', profile: 'paper', parameters: { g: 2 } } } }),
      "file.json: congestion.reaction: g of DCQCN's paper profile is a number from 5e-324 to 1, not 2",
    ],
    [
      'a parameter of the other profile',
      small({ congestion: { reaction: { kind: 'dcqcn', profile: 'paper', parameters: { rpgGd: 11 } } } }),
      'file.json: congestion.reaction.parameters.rpgGd: unknown field',
    ],
    [
      'a port that is not there',
      small({ probe: { intervalNs: 1, queues: ['hub:1'] } }),
      'file.json: probe.queues[0]: there is no port hub:1',
    ],
    [
      'a figure that is none',
      small({ expect: [{ figure: 'fctNs.p200', operator: '<', value: 1 }] }),
      'file.json: expect[0].figure: fctNs.p200: which statistic?',
    ],
    [
      'a variant that is none',
      small({ compare: { a: {} }, expect: [{ figure: 'dropped', variant: 'b', operator: '<', value: 1 }] }),
      'file.json: expect[0].variant: there is no variant b; there is a',
    ],
    [
      'a variant with a bad override',
      small({ compare: { a: {}, b: { loss: 2 } } }),
      'file.json: compare.b.loss: A number from 0 to 1 is expected, not 2',
    ],
    [
      'an override that does not fit the rest',
      small({ compare: { b: { switches: { ecn: { kmaxBytes: 1 } } } } }),
      'file.json: compare.b.switches.ecn.kmaxBytes: kmaxBytes of at least kminBytes is expected, not 1',
    ],
    [
      'a marking that is upside down',
      small({ switches: { ecn: { kminBytes: 2, kmaxBytes: 1, pmax: 1 } } }),
      'file.json: switches.ecn.kmaxBytes: kmaxBytes of at least kminBytes',
    ],
    [
      'a fluid model that is not there',
      small({ expect: [{ figure: 'queueBytes.mean', operator: '~', value: { fluid: 'queueBytes' } }] }),
      'file.json: expect[0].value.fluid: the scenario has no fluid model',
    ],
    ['no object at all', [1, 2], 'file.json: An object is expected'],
  ])('%s', (_, json, line) => {
    const message = refusal(json);
    expect(message).toContain(line);
    expect(message).not.toContain('\n');
  });

  it('a file that is no JSON', () => {
    expect(() => readScenario(scenarioFile('x').replace('scenario.json', 'none.json'))).toThrow(
      /no such file or scenario/,
    );
  });

  it('and says how many more there are', () => {
    const json = small({ topology: { ...SMALL.topology, link: { rateBps: 0, delayNs: -1 } } });
    expect(refusal(json)).toMatch(/not 0 \(and 1 more\)$/);
  });
});

describe('a good scenario', () => {
  it('has every default in place', () => {
    const [only] = loadScenario({ path: 'file.json', json: SMALL }).variants;
    expect(only?.name).toBe('small');
    expect(only?.variant).toMatchObject({
      seed: 1,
      mtu: 1024,
      loss: 0,
      clockwise: false,
      host: { ackEveryPackets: 1, maxUnacked: 65_536, retryCount: 7 },
      switches: { forwarding: 'store-and-forward', flowControl: 'pfc', losslessPriorities: [3] },
      congestion: { notification: { minTimeBetweenCnpsNs: 50_000, signal: 'cnp' } },
    });
  });

  it('is one variant for each override, merged as RFC 7396 says', () => {
    const json = small({
      compare: { as: {}, lossy: { switches: { flowControl: 'none', ecn: null }, congestion: null } },
    });
    const { variants } = loadScenario({ path: 'file.json', json });
    expect(variants.map(({ name }) => name)).toEqual(['as', 'lossy']);
    expect(variants[0]?.variant.switches.ecn?.kminBytes).toBe(10_000);
    expect(variants[1]?.variant.switches).toMatchObject({ flowControl: 'none' });
    expect(variants[1]?.variant.switches.ecn).toBeUndefined();
    expect(variants[1]?.variant.congestion).toBeUndefined();
  });

  it('takes settings by path, and a seed', () => {
    const settings = ['traffic[0].bytes=2e3', 'switches.ecn.pmax=1', 'host={"retryCount":1}'].map(parseSetting);
    const { scenario } = loadScenario({ path: 'file.json', json: SMALL }, settings, 9);
    expect(scenario.traffic[0]).toMatchObject({ bytes: 2000 });
    expect(scenario.switches.ecn?.pmax).toBe(1);
    expect(scenario.host.retryCount).toBe(1);
    expect(scenario.seed).toBe(9);
  });

  it('loses a field that is set to null, and a variant one that is null there', () => {
    const settings = ['probe=null', 'compare={"a":{},"b":{}}', 'compare.b.congestion=null'].map(parseSetting);
    const { variants } = loadScenario({ path: 'file.json', json: SMALL }, settings);
    expect(variants[0]?.variant.probe).toBeUndefined();
    expect(variants.map(({ variant }) => variant.congestion === undefined)).toEqual([false, true]);
  });

  it('is not changed by a field called __proto__', () => {
    const json: Json = JSON.parse('{"compare":{"a":{"__proto__":{"loss":1}}}}');
    expect(refusal({ ...SMALL, ...(json as object) })).toContain('__proto__: unknown field');
  });
});

describe('the scenarios that are built in', () => {
  it.each(builtInNames())('%s is one, and is called like its file', (name) => {
    const { scenario, variants } = loadScenario(readScenario(name));
    expect(scenario.name).toBe(name);
    expect(scenario.expect.length).toBeGreaterThan(0);
    expect(variants.length).toBeGreaterThan(0);
  });
});
