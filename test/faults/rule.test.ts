/**
 * Goal: a rule is for the frames that it says and for no others, and one that makes no sense is refused by name.
 * Method: made frames, one condition at a time.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { compileRules, type MatchContext } from '../../src/faults/compile.ts';
import { FIELD_NAMES } from '../../src/faults/fields.ts';
import { OPCODE_GROUPS, type WireCondition, type WireRule } from '../../src/faults/rule.ts';
import { wireRuleSchema } from '../../tools/bump/rules-file.ts';
import { frame as otherFrame } from '../sim/support.ts';
import { A_TO_B, acknowledge, B_TO_A, mad, packet, parse, req } from './support.ts';

const UNKNOWN: MatchContext = { connection: 0, sourceQpn: -1, relativePsn: Number.NaN, iteration: 0 };
const KNOWN: MatchContext = { connection: 2, sourceQpn: 0x55, relativePsn: 3, iteration: 1 };

const rc = (opcode: number): Uint8Array => packet({ direction: A_TO_B, opcode, qpn: 0x12, psn: 5 });

const FRAMES: Readonly<Record<string, Uint8Array>> = {
  arp: otherFrame(1, 2, 0),
  send: rc(Op.SendOnly),
  'send-invalidate': rc(Op.SendOnlyInvalidate),
  write: rc(Op.WriteMiddle),
  'atomic-write': rc(Op.AtomicWrite),
  'read-request': rc(Op.ReadRequest),
  'read-response': rc(Op.ReadResponseMiddle),
  atomic: rc(Op.FetchAdd),
  ack: acknowledge(A_TO_B, 0x12, 5),
  nak: acknowledge(A_TO_B, 0x12, 5, 0x60),
  'rnr-nak': acknowledge(A_TO_B, 0x12, 5, 0x2c),
  cnp: rc(Op.Cnp),
  mad: mad(A_TO_B, req({ localCommId: 1, localQpn: 2, startingPsn: 3 })),
  'uc write': rc(0x20 | Op.WriteLast),
  datagram: packet({ direction: A_TO_B, opcode: Op.UdSendOnly, qpn: 0x12, psn: 5 }),
  unknown: rc(0x1f),
};

/** Names of the frames that a rule with this condition is for. */
function matched(on: WireCondition, facts = UNKNOWN, direction = A_TO_B): string[] {
  const [rule] = compileRules([{ on, do: 'drop' }]);
  return Object.keys(FRAMES).filter((name) => {
    const bytes = FRAMES[name] ?? new Uint8Array(0);
    return rule?.strikes(parse(bytes).frame, direction, facts);
  });
}

const ROCE = Object.keys(FRAMES).filter((name) => name !== 'arp');

describe('a condition', () => {
  it.each([
    ['any', Object.keys(FRAMES)],
    ['roce', ROCE],
    ['send', ['send', 'send-invalidate', 'datagram']],
    ['write', ['write', 'atomic-write', 'uc write']],
    ['read-request', ['read-request']],
    ['read-response', ['read-response']],
    ['atomic', ['atomic']],
    ['ack', ['ack']],
    ['nak', ['nak', 'rnr-nak']],
    ['rnr-nak', ['rnr-nak']],
    ['cnp', ['cnp']],
    ['mad', ['mad']],
  ] as const)('on the opcode group %s is for %j', (opcode, names) => {
    expect(matched({ opcode })).toEqual(names);
  });

  it('knows every group of the vocabulary', () => {
    for (const opcode of OPCODE_GROUPS) expect(matched({ opcode }).length).toBeGreaterThan(0);
  });

  it('takes names of opcodes in any case, several at once, and groups beside them', () => {
    expect(matched({ opcode: 'rc rdma write middle' })).toEqual(['write']);
    expect(matched({ opcode: ['UC RDMA WRITE Last', 'nak'] })).toEqual(['nak', 'rnr-nak', 'uc write']);
  });

  it('is for all of RoCE when no opcode is named', () => {
    expect(matched({})).toEqual(ROCE);
  });

  it('on queue pairs, connection, PSN and iteration needs them to be known', () => {
    expect(matched({ qpn: 0x12 })).not.toContain('mad');
    expect(matched({ qpn: 1 })).toEqual(['mad']);
    expect(matched({ opcode: 'any', qpn: 0 })).toEqual([]);
    for (const on of [{ sourceQpn: 0x55 }, { connection: 2 }, { psn: 3 }, { psn: [2, 4] }, { iteration: 1 }] as const) {
      expect(matched(on, KNOWN)).toEqual(ROCE);
      expect(matched(on, UNKNOWN)).toEqual([]);
    }
    for (const on of [{ sourceQpn: 0x56 }, { connection: 1 }, { psn: 4 }, { psn: [4, 9] }, { iteration: 2 }] as const)
      expect(matched(on, KNOWN)).toEqual([]);
  });

  it('on the direction is for that direction', () => {
    expect(matched({ direction: 'b-to-a' })).toEqual([]);
    expect(matched({ direction: 'b-to-a' }, UNKNOWN, B_TO_A)).toEqual(ROCE);
  });
});

/** Which of twelve equal frames a rule strikes, from 1. */
function strikes(on: WireCondition, rule: Partial<WireRule> = {}, seed = 1): number[] {
  const [compiled] = compileRules([{ on, do: 'drop', ...rule }], seed);
  const { frame } = parse(rc(Op.SendOnly));
  return Array.from({ length: 12 }, (_, i) => i + 1).filter(() => {
    const struck = compiled?.strikes(frame, A_TO_B, UNKNOWN) ?? false;
    if (struck && compiled !== undefined) compiled.applied++;
    return struck;
  });
}

describe('counting', () => {
  it('takes the nth, a range of them, each nth, and at most so many', () => {
    expect(strikes({ nth: 3 })).toEqual([3]);
    expect(strikes({ nth: [4, 6] })).toEqual([4, 5, 6]);
    expect(strikes({ every: 5 })).toEqual([5, 10]);
    expect(strikes({ nth: [4, 12], every: 4 })).toEqual([4, 8, 12]);
    expect(strikes({}, { times: 2 })).toEqual([1, 2]);
    expect(strikes({ every: 3 }, { times: 1 })).toEqual([3]);
  });

  it('counts frames of its own only', () => {
    const [rule] = compileRules([{ on: { opcode: 'ack', nth: 2 }, do: 'drop' }]);
    const frames = [rc(Op.SendOnly), acknowledge(A_TO_B, 1, 1), rc(Op.SendOnly), acknowledge(A_TO_B, 1, 2)];
    expect(frames.map((bytes) => rule?.strikes(parse(bytes).frame, A_TO_B, UNKNOWN))).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(rule?.matches).toBe(2);
  });

  it('takes a share by seed: the same seed the same frames, whatever rules stand beside it', () => {
    const half = strikes({ probability: 0.5 }, {}, 42);
    expect(half.length).toBeGreaterThan(0);
    expect(half.length).toBeLessThan(12);
    expect(strikes({ probability: 0.5 }, {}, 42)).toEqual(half);
    expect(strikes({ probability: 0.5 }, {}, 43)).not.toEqual(half);
    expect([strikes({ probability: 0 }).length, strikes({ probability: 1 }).length]).toEqual([0, 12]);
  });
});

describe('a rule that makes no sense', () => {
  const bad: readonly (readonly [string, Partial<WireRule>])[] = [
    ['on.opcode is "wrote"', { on: { opcode: 'wrote' } }],
    ['on.opcode is empty', { on: { opcode: [] } }],
    ['on.qpn is 16777216', { on: { qpn: 0x1_00_00_00 } }],
    ['on.sourceQpn is -1', { on: { sourceQpn: -1 } }],
    ['on.psn is 0.5', { on: { psn: 0.5 } }],
    ['on.psn is 1; it must be a whole number, 2', { on: { psn: [2, 1] } }],
    ['on.iteration is 0', { on: { iteration: 0 } }],
    ['on.connection is 0', { on: { connection: 0 } }],
    ['on.nth is 0', { on: { nth: 0 } }],
    ['on.every is 0', { on: { every: 0 } }],
    ['on.probability is 1.5', { on: { probability: 1.5 } }],
    ['times is 0', { times: 0 }],
    ["delayNs means nothing to 'drop'", { delayNs: 5 }],
    ["delayNs is missing: 'delay' needs it", { do: 'delay' }],
    ['delayNs is -1', { do: 'delay', delayNs: -1 }],
    ['copies is 65', { do: 'duplicate', copies: 65 }],
    ['behind is 0', { do: 'reorder', behind: 0 }],
    ["bit means nothing to 'rewrite'", { do: 'rewrite', bit: 1 }],
    ['set is empty', { do: 'rewrite' }],
    ['set.bth.foo is no field', { do: 'rewrite', set: { 'bth.foo': 1 } }],
    ['set.bth.psn is -1', { do: 'rewrite', set: { 'bth.psn': -1 } }],
    ['set.ip.ecn is 4', { do: 'rewrite', set: { 'ip.ecn': 4 } }],
  ];

  it.each(bad)('is refused: %s', (message, rule) => {
    const rules: WireRule[] = [
      { on: {}, do: 'drop' },
      { name: 'mine', on: {}, do: 'drop', ...rule },
    ];
    expect(() => compileRules(rules)).toThrow(`rule 2 (mine): ${message}`);
    expect(() => compileRules(rules)).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }));
  });

  it.each<[name: string, most: number]>([
    ['ip.ecn', 3],
    ['ip.dscp', 63],
    ['ip.ttl', 0xff],
    ['ip.id', 0xff_ff],
    ['udp.sourcePort', 0xff_ff],
    ['bth.opcode', 0xff],
    ['bth.solicited', 1],
    ['bth.migReq', 1],
    ['bth.padCount', 3],
    ['bth.transportVersion', 15],
    ['bth.pkey', 0xff_ff],
    ['bth.fecn', 1],
    ['bth.becn', 1],
    ['bth.destQpn', 0xff_ff_ff],
    ['bth.ackReq', 1],
    ['bth.psn', 0xff_ff_ff],
    ['bth.psnOffset', 0xff_ff_ff],
    ['reth.va', Number.MAX_SAFE_INTEGER],
    ['reth.rkey', 0xff_ff_ff_ff],
    ['reth.length', 0xff_ff_ff_ff],
    ['aeth.syndrome', 0xff],
    ['aeth.msn', 0xff_ff_ff],
    ['deth.qkey', 0xff_ff_ff_ff],
    ['deth.sourceQpn', 0xff_ff_ff],
    ['immdt.value', 0xff_ff_ff_ff],
    ['ieth.rkey', 0xff_ff_ff_ff],
  ])('is one that writes more into %s than %i', (name, most) => {
    const write = (value: number) => compileRules([{ on: {}, do: 'rewrite', set: { [name]: value } }]);
    expect(FIELD_NAMES).toContain(name);
    expect(() => write(most)).not.toThrow();
    expect(() => write(most + 1)).toThrow(`set.${name} is ${most + 1}`);
    const least = name === 'bth.psnOffset' ? -most : 0;
    expect(() => write(least)).not.toThrow();
    expect(() => write(least - 1)).toThrow(`set.${name} is ${least - 1}`);
  });

  it('lists the fields that there are', () => {
    expect(FIELD_NAMES).toContain('bth.psn');
    expect(() => compileRules([{ on: {}, do: 'rewrite', set: { x: 1 } }])).toThrow(FIELD_NAMES.join(', '));
  });
});

describe('the schema of a rule', () => {
  it('takes what the interface has, and nothing else', () => {
    const rule: WireRule = {
      name: 'all',
      on: {
        direction: 'a-to-b',
        opcode: ['write', 'RC SEND Only'],
        qpn: 1,
        sourceQpn: 2,
        psn: [0, 4],
        iteration: 1,
        connection: 1,
        nth: [1, 2],
        every: 1,
        probability: 0.5,
      },
      do: 'rewrite',
      times: 3,
      set: { 'bth.psn': 4 },
      fixIcrc: false,
    };
    expect(wireRuleSchema.parse(JSON.parse(JSON.stringify(rule)))).toEqual(rule);
    expect(wireRuleSchema.safeParse({ ...rule, colour: 1 }).success).toBe(false);
  });
});
