/**
 * Goal: a filter's text and its tree are the same thing in two forms; logic is logic; and what makes no sense is
 * refused with the place and what may have been meant. Method: random trees, printed and parsed again, and judged by an
 * evaluator that knows nothing of closures; random texts and packets; a table of mistakes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import { compileTree } from '../../../pcap/filter/compile.ts';
import {
  compileFilter,
  completeFilter,
  FilterError,
  type FilterSubject,
  fieldKind,
  fieldNames,
  filterHelp,
  subjectFields,
  WORD_GROUPS,
} from '../../../pcap/filter/index.ts';
import { parseFilter, printFilter } from '../../../pcap/filter/parse.ts';
import type { FilterNode } from '../../../pcap/filter/types.ts';
import { packetOf, samples, subjectOf } from './samples.ts';

const WORDS = WORD_GROUPS.flatMap(({ words }) => words);

/** An operand that makes sense behind each kind of word. */
const OPERANDS = [
  '',
  '5',
  '0x11',
  '1-9',
  '7-3',
  '1,2,4-6',
  '> 5',
  '!= 0x10',
  '10.77.0.2',
  'fe80::1',
  '10.77.0.0/24',
  'rep',
];
const MORE_OPERANDS = [
  '52:54:00:00:00:02',
  'write-first',
  'remote-access',
  'was lost',
  'a "quoted" \\ one',
  'and',
  '!= and',
];

const leaf: fc.Arbitrary<FilterNode> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...WORDS), fc.constantFrom(...OPERANDS, ...MORE_OPERANDS))
    .filter(([word, operand]) => word.bind(operand) !== undefined)
    .map(([{ word }, operand]): FilterNode => ({ kind: 'word', word, operand })),
  fc.constantFrom(...fieldNames(), 'infiniband.reth', 'roce', 'ip.dsfield').map((field): FilterNode => {
    return WORDS.some(({ word, aliases }) => word === field || aliases.includes(field))
      ? { kind: 'word', word: 'roce', operand: '' }
      : { kind: 'field', field };
  }),
  fc
    .tuple(
      fc.constantFrom(...fieldNames().filter((name) => fieldKind(name) === 'number')),
      fc.constantFrom('==', '!=', '<', '<=', '>', '>='),
      fc.constantFrom('0', '5', '0x12', '18446744073709551615'),
    )
    .map(([field, operator, value]): FilterNode => ({ kind: 'comparison', field, operator, value })),
  fc.constantFrom<FilterNode>(
    { kind: 'comparison', field: 'ip.addr', operator: '==', value: '10.77.0.1' },
    { kind: 'comparison', field: 'ip.addr', operator: '!=', value: '10.77.0.1' },
    { kind: 'comparison', field: 'ip.src', operator: '!=', value: '10.77.0.0/24' },
    { kind: 'comparison', field: 'frame.comment', operator: 'contains', value: 'was lost' },
    { kind: 'comparison', field: 'roce.opcode.name', operator: '==', value: 'RC SEND Only' },
    { kind: 'comparison', field: 'eth.src', operator: '<', value: '52:54:00:00:00:02' },
  ),
);

const tree: fc.Arbitrary<FilterNode> = fc.letrec<{ node: FilterNode }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaf,
    tie('node').map((operand): FilterNode => ({ kind: 'not', operand })),
    fc
      .tuple(fc.constantFrom('and', 'or'), fc.array(tie('node'), { minLength: 2, maxLength: 4 }))
      .map(([kind, terms]): FilterNode => ({ kind, terms })),
  ),
})).node;

/** What a tree says of a packet, from the values of its leaves alone. */
function judge(node: FilterNode, subject: FilterSubject): boolean {
  switch (node.kind) {
    case 'and':
      return !node.terms.some((term) => !judge(term, subject));
    case 'or':
      return node.terms.filter((term) => judge(term, subject)).length > 0;
    case 'not':
      return !judge(node.operand, subject);
    default:
      return compileTree(node)(subject);
  }
}

describe('a filter as text and as a tree', () => {
  it('prints and parses to the same', () => {
    fc.assert(
      fc.property(tree, (node) => {
        const text = printFilter(node);
        expect(parseFilter(text), text).toEqual(node);
        expect(compileFilter(text).text).toBe(text);
      }),
    );
  });

  it('judges packets as its parts and the rules of logic say', () => {
    const subjects = samples().filter(({ packet }) => packet.number % 16 === 0);
    fc.assert(
      fc.property(tree, (node) => {
        const filter = compileFilter(printFilter(node));
        for (const subject of subjects) expect(filter(subject)).toBe(judge(node, subject));
      }),
      { numRuns: 50 },
    );
  });

  it('is the same without blanks, in capitals and with the signs of C', () => {
    const plain = parseFilter('not arp and (nak or len > 5) and not qp 0x11');
    expect(parseFilter('!ARP&&(NAK||len>5)&&!QP 0x11')).toEqual(plain);
    expect(parseFilter('  not arp and ( nak or len gt 5 ) and not qp 0x11 ')).toEqual(plain);
  });

  it('lets "and" bind more tightly than "or", and "not" most', () => {
    expect(parseFilter('nak or rnr and not ip or arp')).toEqual(parseFilter('nak or (rnr and (not ip)) or arp'));
  });

  it('is empty for no text, and then matches everything', () => {
    expect(parseFilter('  ')).toEqual({ kind: 'all' });
    expect(samples().every(compileFilter(''))).toBe(true);
  });

  it('takes any packet without harm', () => {
    const filters = [...WORDS.map(({ word, bind }) => (bind('') === undefined ? '' : word)), ...fieldNames()]
      .filter((text) => text !== '')
      .map(compileFilter);
    const real = samples().map(({ packet }) => packet.bytes);
    const damaged = fc.oneof(
      fc.uint8Array({ maxLength: 120 }),
      fc.tuple(fc.constantFrom(...real), fc.nat(70), fc.nat(255), fc.nat(200)).map(([bytes, at, value, length]) => {
        const changed = bytes.slice(0, Math.max(14, length));
        changed[at] = value;
        return changed;
      }),
    );
    fc.assert(
      fc.property(damaged, fc.constantFrom(1, 101, 113, 276, 0), (bytes, linkType) => {
        const subject = subjectOf({ ...packetOf(bytes), linkType });
        for (const filter of filters) expect(typeof filter(subject)).toBe('boolean');
      }),
      { numRuns: 25 },
    );
  });
});

describe('a comparison of fields', () => {
  const [first = subjectOf(packetOf(new Uint8Array(0)))] = samples()
    .filter(({ dissection }) => dissection.frame.opcode === 0x13)
    .filter((subject) => typeof subjectFields(subject)['infiniband.reth.va'] === 'string');
  const matches = (text: string): boolean => compileFilter(text)(first);

  it('is exact for numbers that a double cannot hold', () => {
    const value = BigInt(subjectFields(first)['infiniband.reth.va'] ?? 0);
    expect(value).toBeGreaterThan(1n << 60n);
    expect([value, value + 1n, value - 1n].map((wanted) => matches(`infiniband.reth.va == ${wanted}`))).toEqual([
      true,
      false,
      false,
    ]);
    expect(matches(`infiniband.reth.va > ${value - 1n}`)).toBe(true);
    expect(matches(`infiniband.reth.va <= 0x${value.toString(16)}`)).toBe(true);
    expect(matches('infiniband.reth.va > 5')).toBe(true);
  });

  it('is exact for times to the nanosecond', () => {
    const time = `${first.packet.seconds}.${String(first.packet.nanoseconds).padStart(9, '0')}`;
    expect(matches(`frame.time_epoch == ${time}`)).toBe(true);
    expect(matches('frame.time_epoch > 1795230353.999999999')).toBe(true);
    expect(matches('frame.time_epoch < 1795230354.001')).toBe(true);
  });

  it('never holds for a field that is not there, and its negation does', () => {
    expect(['==', '!=', '<', '>='].map((operator) => matches(`infiniband.aeth.msn ${operator} 5`))).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(matches('not infiniband.aeth.msn != 5')).toBe(true);
  });

  it('takes addresses and bytes in any of their spellings', () => {
    expect(matches('ip.src == ::ffff:10.77.0.2')).toBe(true);
    expect(matches('eth.src == 52-54-00-00-00-02')).toBe(true);
    expect(matches('ip.addr == 10.77.0.1 and ip.addr == 10.77.0.2 and not ip.addr != 10.77.0.1')).toBe(true);
  });
});

describe('a filter that makes no sense', () => {
  it.each<[text: string, column: number, sentence: RegExp, suggestions: string[]]>([
    ['retransmision', 1, /'retransmision' is not known/, ['retransmission']],
    ['arp or rnrr', 8, /'rnrr' is not known/, ['rnr']],
    ['write-first', 1, /'write-first' is not known/, ['opcode write-first']],
    ['opcode write-frist', 8, /'opcode' needs the name of an opcode/, ['write-first']],
    ['qp 0x11 or 0x12', 12, /value without a word before it/, ['qp 0x12']],
    ['nak sequnce', 5, /'and', 'or' or the end/, ['sequence']],
    ['bth.psn == 1', 1, /'bth.psn' is not known/, ['infiniband.bth.psn']],
    ['psn', 4, /'psn' needs a PSN from 0 to 0xffffff.*not the end/, []],
    ['psn 0x1000000', 5, /'psn' needs a PSN/, []],
    ['frame 9-3', 7, /'frame' needs/, []],
    ['host 10.0.0', 6, /IPv4 or IPv6 address, not '10\.0\.0'/, []],
    ['net 10.0.0.0/33', 5, /number of bits, not/, []],
    ['vlan 5000', 6, /VLAN id from 0 to 4095/, []],
    ['(arp', 5, /closing parenthesis is expected, not the end/, []],
    ['arp)', 4, /closes nothing/, []],
    ['arp ip', 5, /'and', 'or' or the end of the filter is expected, not 'ip'/, []],
    ['and', 1, /a word of the filter language is expected/, []],
    ['not', 4, /a word of the filter language is expected, not the end/, []],
    ['comment "open', 9, /the quote is not closed/, []],
    ['arp & ip', 5, /'&' has no place/, []],
    ['infiniband.bth.psn == x', 23, /'infiniband\.bth\.psn': a number is expected/, []],
    ['infiniband.bth.psn contains 5', 29, /contains looks into/, []],
    ['infiniband.bth.psm == 5', 1, /is not known/, ['infiniband.bth.psn']],
    ['ip.src == 10.0.0.0/24 and ip.dst < 10.0.0.0/24', 36, /== or != only/, []],
    [
      'infiniband.reth == 4',
      1,
      /is a header, not a field/,
      ['infiniband.reth.va', 'infiniband.reth.r_key', 'infiniband.reth.dmalen'],
    ],
    ['frame.time_epoch > yesterday', 20, /seconds are expected/, []],
  ])('%s is refused', (text, column, sentence, suggestions) => {
    const error = errorOf(text);
    expect(error.message).toMatch(sentence);
    expect(error.message).toContain(`filter, column ${column}: `);
    expect([error.code, error.column]).toEqual(['ERR_ROCE_ARGUMENT', column]);
    expect(error.suggestions.slice(0, Math.max(1, suggestions.length))).toEqual(suggestions);
  });

  it('is refused however deep or long it is, and never with anything but a FilterError', () => {
    expect(errorOf(`${'('.repeat(100_000)}`).message).toContain('at most 200');
    expect(errorOf(`${'!'.repeat(5000)}arp`).message).toContain('at most 200');
    expect(errorOf(`arp ${'or arp '.repeat(20_000)}`).message).toContain('characters');
    expect(samples().some(compileFilter(`ip ${'and ip '.repeat(2000)}`))).toBe(true);
    const pieces = fc.constantFrom(
      'arp',
      'psn',
      '5',
      '(',
      ')',
      'and',
      'or',
      'not',
      '==',
      '>',
      '"',
      'ip.src',
      '10.0.0.1',
      ',',
      '-',
      '&',
      'ö',
      '\\',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces).map((parts) => parts.join(' ')),
        ),
        (text) => {
          try {
            compileFilter(text);
          } catch (error) {
            expect(error).toBeInstanceOf(FilterError);
            expect(error).toBeInstanceOf(RoceError);
          }
        },
      ),
    );
  });

  it('says where it is wrong inside the text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          compileFilter(text);
        } catch (error) {
          if (!(error instanceof FilterError)) throw error;
          expect(error.column).toBeGreaterThan(0);
          expect(error.column - 1 + error.length).toBeLessThanOrEqual(text.length);
        }
      }),
    );
  });
});

describe('what tells of the language', () => {
  it('has every word, with its meaning, within the width', () => {
    const lines = filterHelp(80);
    const text = lines.join('\n');
    for (const { syntax, choices } of WORDS) {
      expect(text).toContain(`  ${syntax}`);
      for (const choice of choices) expect(text).toContain(choice);
    }
    expect(
      Math.max(
        ...lines.filter((line) => !/^Any field|^N is|^A filter|^ {2}infini/.test(line)).map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(100);
  });

  it('shows examples that are filters', () => {
    const lines = filterHelp();
    const examples = lines.slice(lines.indexOf('Examples:') + 1).map((line) => line.trim().split(/ {3,}/)[0] ?? '');
    expect(examples.length).toBeGreaterThan(3);
    for (const example of examples) expect(compileFilter(example).text).not.toBe('');
  });

  it.each<[text: string, cursor: number, first: string[]]>([
    ['not retr', 8, ['retransmission', 'retransmit']],
    ['opcode write-f', 14, ['write-first']],
    ['arp or cm r', 11, ['req', 'rej', 'rep', 'rtu']],
    ['infiniband.bth.ps and arp', 17, ['infiniband.bth.psn']],
    ['host 10', 7, []],
  ])('completes %s', (text, cursor, first) => {
    const found = completeFilter(text, cursor);
    expect(found.slice(0, Math.max(1, first.length)).map((completion) => completion.text)).toEqual(first);
    for (const { from, to } of found) expect(text.slice(from, to)).toMatch(/^\S+$/);
  });
});

function errorOf(text: string): FilterError {
  try {
    compileFilter(text);
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  throw new Error(`${text} is a filter`);
}
