/**
 * Goal: every word of the filter language matches exactly the packets that its meaning says. Method: each word has a
 * second definition here, over the record of all fields that printers are fed with, which the filter's fast words do
 * not use; both judge packets of every kind.
 */
import { describe, expect, it } from 'vitest';
import { IpPrefix } from '../../../packets/address.ts';
import type { FieldValue } from '../../../packets/field-list.ts';
import { MARK_NAMES } from '../../../pcap/analysis/facts.ts';
import { compileFilter, type FilterSubject, subjectFields, WORD_GROUPS } from '../../../pcap/filter/index.ts';
import { make } from '../../packets/made-frames.ts';
import { toHex } from '../../packets/support.ts';
import { ethernet, ipv4 } from '../tunnels/wrappings.ts';
import { completed, outlineOf } from './outlines.ts';
import { packetOf, samples, subjectOf } from './samples.ts';

type Record_ = Readonly<Record<string, FieldValue>>;
type Oracle = (fields: Record_, subject: FilterSubject) => boolean;

const number = (fields: Record_, name: string): number => Number(fields[name] ?? Number.NaN);
const has =
  (name: string): Oracle =>
  (fields) =>
    name in fields;
const is =
  (name: string, wanted: FieldValue): Oracle =>
  (fields) =>
    fields[name] === wanted;
const oneOf =
  (names: readonly string[], wanted: FieldValue): Oracle =>
  (fields) =>
    names.some((name) => fields[name] === wanted);
const between =
  (name: string, from: number, to: number): Oracle =>
  (fields) =>
    number(fields, name) >= from && number(fields, name) <= to;
const opcode =
  (pattern: RegExp): Oracle =>
  (fields) => {
    const name = fields['roce.opcode.name'];
    return typeof name === 'string' && !name.startsWith('Unknown') && pattern.test(name);
  };
const service =
  (bits: number): Oracle =>
  (fields) =>
    number(fields, 'infiniband.bth.opcode') >>> 5 === bits && has('infiniband.bth.opcode')(fields, NONE);
const inNet =
  (names: readonly string[], prefix: string): Oracle =>
  (fields) =>
    names.some((name) => {
      const [net, length] = prefix.split('/');
      return (
        fields[name] !== undefined &&
        IpPrefix.parse(`${fields[name]}/${length}`).contains(IpPrefix.parse(`${net}/${length}`).address)
      );
    });
const protocol =
  (value: number): Oracle =>
  (fields, { dissection: { frame } }) =>
    frame.l4Offset >= 0 && (fields['ip.proto'] === value || fields['ipv6.nxt'] === value);
const mark =
  (name: (typeof MARK_NAMES)[number]): Oracle =>
  (_, { facts }) =>
    ((facts?.marks ?? 0) & (1 << MARK_NAMES.indexOf(name))) !== 0;
const NONE: FilterSubject = samples()[0] ?? { packet: undefined as never, dissection: undefined as never };

const SOURCES = ['ip.src', 'ipv6.src', 'arp.src.proto_ipv4'];
const TARGETS = ['ip.dst', 'ipv6.dst', 'arp.dst.proto_ipv4'];
const PORTS = ['udp.srcport', 'tcp.srcport', 'udp.dstport', 'tcp.dstport'];
const dscp: Oracle = (fields) => (fields['ip.dsfield.dscp'] ?? fields['ipv6.tclass.dscp']) === 26;
const syndrome = (value: number): Oracle => is('infiniband.aeth.syndrome.opcode', value);

/** An expression of one word, and what it has to match. Of words with operands several forms. */
const ORACLES: readonly (readonly [expression: string, oracle: Oracle])[] = [
  ['roce', has('infiniband.bth.opcode')],
  ['infiniband', has('infiniband.bth.opcode')],
  ['rc', service(0)],
  ['uc', service(1)],
  ['rd', service(2)],
  ['ud', service(3)],
  ['xrc', service(5)],
  ['mad', has('infiniband.mad.mgmtclass')],
  ['cm', (fields) => Object.keys(fields).some((name) => /^(infiniband|roce)\.cm\./.test(name))],
  ['cm rep', has('infiniband.cm.rep')],
  ['cm req,dreq', (fields) => 'infiniband.cm.req' in fields || 'infiniband.cm.dreq.localcommid' in fields],
  ['opcode 6', is('infiniband.bth.opcode', 6)],
  ['opcode write-first', opcode(/RDMA WRITE First$/)],
  ['opcode 0x11,0x12', between('infiniband.bth.opcode', 0x11, 0x12)],
  ['opcode > 0x60', between('infiniband.bth.opcode', 0x61, 0xff)],
  ['opcode compare-swap,fetch-add', opcode(/CmpSwap|FetchAdd/)],
  ['opcode send-last-imm', opcode(/SEND Last with Immediate/)],
  ['opcode acknowledge', opcode(/^\w+ Acknowledge$/)],
  [
    'opcode ack',
    (fields, subject) =>
      number(fields, 'infiniband.aeth.syndrome') < 0x20 && opcode(/^(RC|RD|XRC) Acknowledge$/)(fields, subject),
  ],
  ['opcode rnr', between('infiniband.aeth.syndrome', 0x20, 0x3f)],
  ['opcode cnp', is('infiniband.bth.opcode', 0x81)],
  ['send', opcode(/ SEND /)],
  ['write', opcode(/RDMA WRITE/)],
  ['read', opcode(/RDMA READ/)],
  ['read-request', opcode(/READ Request/)],
  ['read-response', opcode(/READ response/)],
  ['atomic', opcode(/CmpSwap|FetchAdd|ATOMIC Ack/)],
  ['flush', opcode(/FLUSH/)],
  ['atomic-write', opcode(/ATOMIC WRITE/)],
  ['cnp', is('infiniband.bth.opcode', 0x81)],
  ['response', opcode(/response|Acknowledge/)],
  ['request', opcode(/SEND|RDMA WRITE|READ Request|CmpSwap|FetchAdd|RESYNC|FLUSH|ATOMIC WRITE/)],
  ['first', opcode(/ First/)],
  ['middle', opcode(/ Middle/)],
  ['last', opcode(/ Last/)],
  ['only', (fields, subject) => opcode(/./)(fields, subject) && !opcode(/ (First|Middle|Last)|^CNP/i)(fields, subject)],
  ['immediate', opcode(/Immediate/)],
  ['invalidate', opcode(/Invalidate/)],
  [
    'ack',
    (fields, subject) =>
      number(fields, 'infiniband.aeth.syndrome') < 0x20 && opcode(/^(RC|RD|XRC) Acknowledge$/)(fields, subject),
  ],
  ['nak', (fields, subject) => syndrome(3)(fields, subject) && number(fields, 'infiniband.aeth.syndrome') < 0x80],
  ['nak sequence', is('infiniband.aeth.syndrome', 0x60)],
  ['nak remote-access,invalid-request', between('infiniband.aeth.syndrome', 0x61, 0x62)],
  ['rnr', (fields, subject) => syndrome(1)(fields, subject) && number(fields, 'infiniband.aeth.syndrome') < 0x80],
  ['qp 1', is('infiniband.bth.destqp', 1)],
  ['dst qp 0x11-0x12', between('infiniband.bth.destqp', 0x11, 0x12)],
  ['qp != 1', (fields) => 'infiniband.bth.destqp' in fields && fields['infiniband.bth.destqp'] !== 1],
  ['src qp 1', is('infiniband.deth.srcqp', 1)],
  ['psn 1234', is('infiniband.bth.psn', 1234)],
  ['psn 0-1233', between('infiniband.bth.psn', 0, 1233)],
  ['psn 1235-1233', (fields) => 'infiniband.bth.psn' in fields && fields['infiniband.bth.psn'] !== 1234],
  ['psn <= 1234', between('infiniband.bth.psn', 0, 1234)],
  ['msn 1-100', between('infiniband.aeth.msn', 1, 100)],
  ['syndrome 0x1f', is('infiniband.aeth.syndrome', 0x1f)],
  ['pkey 0xffff', is('infiniband.bth.p_key', 0xff_ff)],
  ['qkey 0x80010000', is('infiniband.deth.q_key', 0x80_01_00_00)],
  ['rkey > 0', (fields) => number(fields, 'infiniband.reth.r_key') > 0 || number(fields, 'infiniband.ieth') > 0],
  ['dma-len < 100000', (fields) => number(fields, 'infiniband.reth.dmalen') < 100_000],
  ['imm >= 0', has('infiniband.immdt')],
  ['xrcsrq >= 0', has('roce.xrceth.xrcsrq')],
  ['payload 32-1024', between('roce.payload.len', 32, 1024)],
  ['pad 1-3', between('infiniband.bth.padcnt', 1, 3)],
  ['ackreq', is('infiniband.bth.a', 1)],
  ['solicited', is('infiniband.bth.se', 1)],
  ['migreq', is('infiniband.bth.m', 1)],
  ['fecn', is('roce.bth.fecn', 1)],
  ['becn', is('roce.bth.becn', 1)],
  ['bad-icrc', is('roce.icrc.status', 'bad')],
  ['good-icrc', is('roce.icrc.status', 'good')],
  [
    'malformed',
    (fields, { dissection }) =>
      /Truncated|Bad|Unknown|Fragment/.test(String(fields['roce.frame.status'])) &&
      !(dissection.cut && fields['roce.frame.status'] === 'Truncated'),
  ],
  ['stream 1-2', between('roce.stream', 1, 2)],
  ['rel-psn > 20', (fields) => number(fields, 'roce.relative_psn') > 20],
  ['marked', has('roce.marks')],
  ...(['retransmission', 'copy', 'late', 'gap', 'implied-nak', 'after-timeout', 'ghost-ack', 'violation'] as const).map(
    (name) => [name, mark(name)] as const,
  ),
  ['host 10.77.0.1', oneOf([...SOURCES, ...TARGETS], '10.77.0.1')],
  ['src host 10.77.0.1', oneOf(SOURCES, '10.77.0.1')],
  ['src fe80::1', oneOf(SOURCES, 'fe80::1')],
  ['dst host 10.77.0.1', oneOf(TARGETS, '10.77.0.1')],
  ['dst 10.77.0.1', oneOf(TARGETS, '10.77.0.1')],
  ['net 10.77.1.0/24', inNet([...SOURCES, ...TARGETS], '10.77.1.0/24')],
  ['src net 10.77.0.0/23', inNet(SOURCES, '10.77.0.0/23')],
  ['dst net fe80::/10', inNet(TARGETS, 'fe80::/10')],
  ['port 18515', oneOf(PORTS, 18515)],
  ['port != 4791', (fields) => PORTS.some((name) => name in fields) && PORTS.every((name) => fields[name] !== 4791)],
  ['src port 50000', oneOf(PORTS.slice(0, 2), 50_000)],
  ['dst port 4791', oneOf(PORTS.slice(2), 4791)],
  ['ether host 52:54:00:00:00:01', oneOf(['eth.src', 'eth.dst'], '52:54:00:00:00:01')],
  ['ether src 52:54:00:00:00:01', is('eth.src', '52:54:00:00:00:01')],
  ['ether dst FF:ff:ff:ff:ff:ff', is('eth.dst', 'ff:ff:ff:ff:ff:ff')],
  ['ip', has('ip.src')],
  ['ip6', has('ipv6.src')],
  ['udp', protocol(17)],
  ['tcp', protocol(6)],
  ['icmp', (fields, subject) => 'ip.src' in fields && protocol(1)(fields, subject)],
  ['icmp6', (fields, subject) => 'ipv6.src' in fields && protocol(58)(fields, subject)],
  ['arp', (fields) => fields['eth.type'] === 0x0806 || fields['vlan.etype'] === 0x0806],
  ['pfc', is('eth.type', 0x8808)],
  ['roce1', is('eth.type', 0x8915)],
  ['fragment', is('roce.frame.status', 'Fragment')],
  ['vlan', has('vlan.id')],
  ['vlan 5', is('vlan.id', 5)],
  ['vlan 261', is('vlan.id', 261)],
  ['priority 5', is('vlan.priority', 5)],
  ['ce', (fields) => (fields['ip.dsfield.ecn'] ?? fields['ipv6.tclass.ecn']) === 3],
  ['ecn 2', (fields) => (fields['ip.dsfield.ecn'] ?? fields['ipv6.tclass.ecn']) === 2],
  ['dscp 26', dscp],
  ['ttl 1', (fields) => (fields['ip.ttl'] ?? fields['ipv6.hlim']) === 1],
  ['frame 10-20', between('frame.number', 10, 20)],
  ['len > 1000', (fields) => number(fields, 'frame.len') > 1000],
  ['in', is('frame.packet_flags_direction', 1)],
  ['out', is('frame.packet_flags_direction', 2)],
  ['interface eth0', is('frame.interface_name', 'eth0')],
  ['commented', has('frame.comment')],
  ['comment "was lost"', (fields) => String(fields['frame.comment']).includes('was lost')],
  ['cut', (_, { packet }) => packet.bytes.length < packet.originalLength],
  ['tunnel', has('roce.tunnel')],
  ['tunnel 9', (fields) => /\b9$/.test(`${fields['roce.tunnel'] ?? ''}`)],
  ['tunnel < 42', (fields) => Number(/ (\d+)$/.exec(`${fields['roce.tunnel'] ?? ''}`)?.[1]) < 42],
];

/** Words that a `PacketOutline` is enough for, beside those of the analysis. */
const OF_THE_OUTLINE = [
  ...['roce', 'rc', 'uc', 'rd', 'ud', 'xrc', 'opcode', 'send', 'write', 'read', 'read-request', 'read-response'],
  ...['atomic', 'flush', 'atomic-write', 'cnp', 'request', 'response', 'first', 'middle', 'last', 'only', 'immediate'],
  ...['invalidate', 'ack', 'nak', 'rnr', 'qp', 'psn', 'syndrome', 'payload', 'bad-icrc', 'good-icrc', 'ip', 'ip6'],
  ...['ce', 'ecn', 'dscp', 'frame', 'len', 'interface', 'commented', 'comment'],
];
const OF_THE_ANALYSIS = [
  ...['stream', 'rel-psn', 'marked', 'retransmission', 'copy', 'late', 'gap', 'implied-nak', 'after-timeout'],
  ...['ghost-ack', 'violation'],
];

/** What the samples have none of. */
const RARE = new Set(['icmp6']);

describe('the words of the filter', () => {
  const subjects = samples();
  const records = subjects.map(subjectFields);

  it.each(ORACLES)('%s matches what its meaning says', (expression, oracle) => {
    const filter = compileFilter(expression);
    const found = subjects.filter((subject) => filter(subject)).map(({ packet }) => packet.number);
    const wanted = subjects
      .filter((subject, at) => oracle(records[at] ?? {}, subject))
      .map(({ packet }) => packet.number);
    expect(found).toEqual(wanted);
    if (!RARE.has(expression)) expect(found.length, 'packets of the sample that match').toBeGreaterThan(0);
    expect(found.length, 'packets of the sample that match').toBeLessThan(subjects.length);
  });

  it('all have a second definition here', () => {
    const covered = new Set(ORACLES.map(([expression]) => expression));
    const isCovered = (spelling: string): boolean =>
      [...covered].some((known) => known === spelling || known.startsWith(`${spelling} `));
    const missing = WORD_GROUPS.flatMap(({ words }) => words).filter(
      ({ word, aliases }) => ![word, ...aliases].some(isCovered),
    );
    expect(missing.map(({ word }) => word)).toEqual([]);
  });

  it('are spelled in one way each, and say what follows them', () => {
    const words = WORD_GROUPS.flatMap((group) => group.words);
    const spellings = words.flatMap(({ word, aliases }) => [word, ...aliases]);
    expect(new Set(spellings).size).toBe(spellings.length);
    for (const { word, syntax, meaning, operand, expected, bind } of words) {
      expect(syntax.startsWith(word)).toBe(true);
      expect(/ \[.+\]$/.test(syntax), word).toBe(operand === 'optional');
      expect(meaning).not.toMatch(/\.$/);
      expect(bind('') === undefined, word).toBe(operand === 'required');
      if (operand !== 'none') expect(expected, word).not.toBe('');
    }
  });

  it('judge the outline of a packet as they judge the packet, where they need no packet', () => {
    const judged = new Map<string, number>();
    for (const [expression] of ORACLES) {
      const filter = compileFilter(expression);
      const [spelling = ''] = expression.split(' ');
      if (filter.needsPacket) continue;
      for (const subject of subjects) expect(filter(outlineOf(subject)), expression).toBe(filter(completed(subject)));
      judged.set(spelling, (judged.get(spelling) ?? 0) + 1);
    }
    for (const word of ['nak', 'opcode', 'psn', 'qp', 'payload', 'bad-icrc', 'ce', 'ecn', 'stream', 'comment', 'len'])
      expect(judged.get(word), word).toBeGreaterThan(0);
  });

  it('need the packet where any part of an expression does', () => {
    const needs = (text: string): boolean => compileFilter(text).needsPacket;
    expect(['', 'nak', 'not (nak or stream 1)', 'infiniband.bth.psn > 5', 'in or stream 2'].map(needs)).toEqual([
      false,
      false,
      false,
      false,
      true,
    ]);
    expect(
      ['host 10.0.0.1', 'nak and not ackreq', 'roce.marks', 'malformed', 'ip.addr == 10.0.0.1'].map(needs),
    ).toEqual([true, true, true, true, true]);
  });

  it('need no packet where its outline says as much, and the analysis only where nothing else says it', () => {
    const words = WORD_GROUPS.flatMap((group) => group.words);
    const named = (test: (word: (typeof words)[number]) => boolean): string[] =>
      words.filter(test).map(({ word }) => word);
    expect(named(({ analysis }) => analysis)).toEqual(OF_THE_ANALYSIS);
    expect(named(({ needsPacket }) => !needsPacket).toSorted()).toEqual(
      [...OF_THE_ANALYSIS, ...OF_THE_OUTLINE].toSorted(),
    );
  });

  it.each<[word: string, largest: number]>([
    ['ecn', 3],
    ['pad', 3],
    ['priority', 7],
    ['dscp', 63],
    ['syndrome', 0xff],
    ['ttl', 0xff],
    ['opcode', 0xff],
    ['vlan', 0xfff],
    ['pkey', 0xff_ff],
    ['port', 0xff_ff],
    ['payload', 0xff_ff],
    ['qp', 0xff_ff_ff],
    ['psn', 0xff_ff_ff],
    ['msn', 0xff_ff_ff],
    ['xrcsrq', 0xff_ff_ff],
    ['rkey', 0xff_ff_ff_ff],
    ['imm', 0xff_ff_ff_ff],
    ['tunnel', 0xff_ff_ff_ff],
  ])('take what the header has room for: %s up to %i', (word, largest) => {
    expect(() => compileFilter(`${word} ${largest}`)).not.toThrow();
    expect(() => compileFilter(`${word} ${largest + 1}`)).toThrow(`'${word}' needs`);
  });

  it('know a tunnel of id 0 from one that has none', () => {
    const inner = toHex(make(0x0a).subarray(14));
    const found = ['tunnel', 'tunnel 0', 'tunnel > 0'].map((text) => {
      const filter = compileFilter(text);
      // The label "explicit null" of IPv4, and GRE without a key.
      const frames = [ethernet('8847', `0000013f ${inner}`), ethernet('0800', ipv4(47, `00000800 ${inner}`))];
      return frames.map((bytes) => filter(subjectOf(packetOf(bytes))));
    });
    expect(found).toEqual([
      [true, true],
      [true, false],
      [false, false],
    ]);
  });

  it('take words of the analysis for what nobody found when there is no analysis', () => {
    const filter = compileFilter('marked or stream 1-99 or rel-psn >= 0');
    expect(filter.needsAnalysis).toBe(true);
    expect(subjects.some((subject) => filter({ ...subject, facts: undefined }))).toBe(false);
    expect(compileFilter('nak or rnr').needsAnalysis).toBe(false);
    expect(compileFilter('not (roce.stream == 1)').needsAnalysis).toBe(true);
  });
});
