/**
 * Goal: what is wrong with a file is said with its place, and parameters mean what they say. Method: small files, each
 * with one fault.
 */
import { describe, expect, it } from 'vitest';
import { parseText } from '../../../tools/experiment/load.ts';
import { fileOf, PING } from './support.ts';

const load = (file: unknown, settings: Record<string, string> = {}) =>
  parseText(JSON.stringify(file), settings, 'x.json');
const hosts = (alice: object) => ({ alice, bob: { kind: 'stack', addresses: ['10.0.0.2/24'] } });
const STACK = { kind: 'stack', addresses: ['10.0.0.1/24'] };
const expecting = (expectation: object) => fileOf({ cases: [{ ...PING, expect: [expectation] }] });
const running = (...run: object[]) => fileOf({ cases: [{ name: 'one', run, expect: [] }] });
const ruled = (rule: object) => fileOf({ wires: [{ name: 'wire', between: ['alice', 'bob'], rules: [rule] }] });

describe('a file', () => {
  it('is an experiment as it stands, $schema apart', () => {
    const { name, hosts, cases, parameters } = load({ $schema: 'any', ...fileOf() });
    expect({ name, parameters, hosts: Object.keys(hosts), cases }).toEqual({
      name: 'two-stacks',
      parameters: {},
      hosts: ['alice', 'bob'],
      cases: [PING],
    });
  });

  it.each<[string, unknown, string]>([
    ['an unknown field', { ...fileOf(), color: 'red' }, 'x.json: Unrecognized key: "color"'],
    ['a kind that is none', fileOf({ hosts: hosts({ kind: 'vm' }) }), 'x.json: hosts.alice.kind: '],
    [
      'a kernel that is none',
      fileOf({ hosts: hosts({ kind: 'guest', kernel: '9', addresses: ['1.2.3.4/8'] }) }),
      'x.json: hosts.alice.kernel: ',
    ],
    [
      'an address without prefix',
      fileOf({ hosts: hosts({ kind: 'stack', addresses: ['10.0.0.1'] }) }),
      'x.json: hosts.alice.addresses[0]: ',
    ],
    ['a MAC that is none', fileOf({ hosts: hosts({ ...STACK, mac: '52:54' }) }), 'x.json: hosts.alice.mac: '],
    ['an MTU too small', fileOf({ hosts: hosts({ ...STACK, mtu: 351 }) }), 'x.json: hosts.alice.mtu: '],
    [
      'an MTU too small for IPv6',
      fileOf({ hosts: hosts({ ...STACK, addresses: ['fd00::1/64'], mtu: 1279 }) }),
      'x.json: hosts.alice.mtu: IPv6 needs an MTU of 1280',
    ],
    [
      'a host without a wire',
      fileOf({ hosts: { ...hosts(STACK), carol: STACK } }),
      'x.json: hosts.carol: No wire leads to this host',
    ],
    [
      'a wire to nobody',
      fileOf({ wires: [{ name: 'wire', between: ['alice', 'eve'] }] }),
      'x.json: wires[0].between[1]: There is no host eve; there is alice, bob',
    ],
    [
      'a host on two wires',
      fileOf({
        wires: [
          { name: 'a', between: ['alice', 'bob'] },
          { name: 'b', between: ['bob', 'alice'] },
        ],
      }),
      'x.json: wires[1].between[0]: bob is at the end of another wire',
    ],
    [
      'a wire to itself',
      fileOf({ wires: [{ name: 'wire', between: ['alice', 'alice'] }] }),
      'x.json: wires[0].between[1]: alice is at the end of another wire',
    ],
    ['two cases of a name', fileOf({ cases: [PING, PING] }), 'x.json: cases[1].name: ping is the name of another one'],
    ['a rule that does nothing known', ruled({ on: {}, do: 'eat' }), 'x.json: wires[0].rules[0].do: '],
    [
      'a rule for an opcode that is none',
      ruled({ on: { opcode: 'shout' }, do: 'drop' }),
      'x.json: wires[0].rules[0]: ',
    ],
    [
      'conduct of no wire',
      fileOf({ cases: [{ ...PING, wires: { other: {} } }] }),
      'x.json: cases[0].wires.other: There is no wire other; there is wire',
    ],
    [
      'a step that is none',
      running({ host: 'alice' }),
      'x.json: cases[0].run[0]: Exactly one of command, wait, end is expected, not none',
    ],
    [
      'a command of nobody',
      running({ host: 'eve', command: 'x' }),
      'x.json: cases[0].run[0].host: There is no host eve',
    ],
    [
      'two commands of a name',
      running({ host: 'bob', command: 'x' }, { host: 'bob', command: 'y' }),
      'x.json: cases[0].run[1]: Another command of this case is called bob',
    ],
    [
      'readiness of what is waited for',
      running({ host: 'bob', command: 'x', ready: { listen: 1 } }),
      'x.json: cases[0].run[0].ready: Only a command in the background',
    ],
    [
      'an exit code that is none',
      running({ host: 'bob', command: 'x', exit: 'well' }),
      'x.json: cases[0].run[0].exit: An exit code, "failure" or "any" is expected',
    ],
    [
      'the end of nothing',
      running({ end: 'bob' }),
      'x.json: cases[0].run[0].end: There is no command of this case bob; there is none',
    ],
    [
      'an expectation of two kinds',
      expecting({ wire: 'wire', filter: 'ip', sound: true, count: 1 }),
      'x.json: cases[0].expect[0]: Exactly one of filter, sound,',
    ],
    [
      'a finding that the analyzer does not know',
      expecting({ wire: 'wire', findings: ['no-reply', 'bad-luck'] }),
      'x.json: cases[0].expect[0].findings[1]: There is no finding bad-luck; there is ',
    ],
    [
      'a tolerated finding that the analyzer does not know',
      expecting({ wire: 'wire', findings: [], tolerated: ['rule/bad-luck'] }),
      'x.json: cases[0].expect[0].tolerated[0]: There is no finding rule/bad-luck; there is ',
    ],
    ['a filter without a count', expecting({ wire: 'wire', filter: 'ip' }), 'x.json: cases[0].expect[0].count: '],
    [
      'a count that cannot be',
      expecting({ wire: 'wire', filter: 'ip', count: { min: 3, max: 2 } }),
      'x.json: cases[0].expect[0].count: A whole number',
    ],
    [
      'a view from elsewhere',
      expecting({ wire: 'wire', at: 'eve', filter: 'ip', count: 1 }),
      'x.json: cases[0].expect[0].at: eve is at neither end of wire',
    ],
    ['a pattern that is none', expecting({ run: 'bob', prints: '(' }), 'x.json: cases[0].expect[0].prints: '],
    [
      'a deed that no wire does',
      expecting({ wire: 'wire', event: 'eaten', count: 0 }),
      'x.json: cases[0].expect[0].event: There is no rule or deed eaten; there is forwarded, dropped, ',
    ],
    [
      'what nobody printed',
      expecting({ run: 'eve', prints: 'x' }),
      'x.json: cases[0].expect[0].run: There is no command of this case eve',
    ],
    [
      'a counter that is none',
      expecting({ host: 'bob', counter: 'sheep', count: 1 }),
      'x.json: cases[0].expect[0].counter: There is no counter sheep',
    ],
  ])('with %s is refused', (_what, file, message) => {
    expect(() => load(file)).toThrow(message);
  });

  it('that is no JSON is refused with its name', () => {
    expect(() => parseText('{', {}, 'x.json')).toThrow(/^x\.json: /);
  });

  it('has every fault of it told, a line each', () => {
    const file = fileOf({ title: '', about: 7 });
    expect(() => load(file)).toThrow(/x\.json: title: .*\nx\.json: about: /s);
  });

  it.each([['guest'], ['namespace']] as const)('has no counters of a host of kind %s', (kind) => {
    const kernel = kind === 'guest' ? { kernel: '6.12' } : {};
    const bob = { kind, ...kernel, addresses: ['10.0.0.2/24'] };
    const file = { ...expecting({ host: 'bob', counter: 'sentPkts', count: 1 }), hosts: { ...hosts(STACK), bob } };
    expect(() => load(file)).toThrow('x.json: cases[0].expect[0].host: Counters are those of a host of kind "stack"');
  });
});

describe('parameters', () => {
  const file = fileOf({
    parameters: { mtu: 1500, host: '10.0.0.2', count: 3 },
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: what a file has
    hosts: { alice: { ...STACK, mtu: '${mtu}' }, bob: { kind: 'stack', addresses: ['${host}/24'] } },
    cases: [{ name: 'one', run: [{ host: 'alice', command: 'rping -a ${host} -C ${count}; echo $HOME' }], expect: [] }],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: what a file has
  });

  it('stand for their values, numbers where nothing else is said', () => {
    const { hosts, cases } = load(file);
    expect(hosts['alice']?.mtu).toBe(1500);
    expect(hosts['bob']?.addresses).toEqual(['10.0.0.2/24']);
    expect(cases[0]?.run[0]).toEqual({ host: 'alice', command: 'rping -a 10.0.0.2 -C 3; echo $HOME' });
  });

  it('are set from outside, each in its own type', () => {
    const { hosts, parameters } = load(file, { mtu: '4200', host: '10.0.0.9' });
    expect([hosts['alice']?.mtu, hosts['bob']?.addresses[0]]).toEqual([4200, '10.0.0.9/24']);
    expect(parameters).toEqual({ mtu: 4200, host: '10.0.0.9', count: 3 });
  });

  it.each([
    ['a name that is none', { size: '1' }, 'parameters: There is no parameter size; there is mtu, host, count'],
    ['a text for a number', { mtu: 'big' }, 'parameters.mtu: A number is expected, not "big"'],
    ['nothing for a number', { mtu: ' ' }, 'parameters.mtu: A number is expected, not " "'],
    ['a value that does not fit its place', { mtu: '70' }, 'hosts.alice.mtu: '],
  ])('refuse %s', (_what, settings, message) => {
    expect(() => load(file, settings)).toThrow(message);
  });

  it('that nobody declared are told with the place of their use', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a file has
    const command = 'rping -C ${often}';
    expect(() => load(running({ host: 'bob', command }))).toThrow(
      'x.json: cases[0].run[0].command: There is no parameter often; there is none',
    );
  });

  it('are not looked for on the way up: constructor is none', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a file has
    expect(() => load(running({ host: 'bob', command: '${constructor}' }))).toThrow('no parameter constructor');
  });
});
