/**
 * Goal: docs/export.md is right: its tables are those of the code, and its queries answer what they ask. Method: the
 * tables are made again; the queries are taken from the page and run by DuckDB over captures of a small fleet, and each
 * answer is compared with what the analyzer says of the same captures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConversationReport, EndReport, TransportEvent } from '../../../pcap/index.ts';
import { Dissection, dissect, readCapture } from '../../../pcap/index.ts';
import { exportPage } from '../../../tools/export/page.ts';
import { describeWith } from '../../support/need.ts';
import { LOST, type Member } from './fleet.ts';
import { exportFleet, openInDuckDb, page, QUESTIONS, question, type Row } from './questions.ts';

it('docs/export.md has the tables of the code; npx tsx tools/export/page.ts writes them', () => {
  expect(page).toBe(exportPage(page));
});

/** BIGINT and HUGEINT are BigInt there; these are small, times apart. */
function plain(row: Row): Row {
  const small = (value: unknown): unknown =>
    typeof value === 'bigint' && value < BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, small(value)]));
}

/** Ends of conversations that count once, with their peers. */
interface End {
  readonly host: string;
  readonly of: EndReport;
  readonly peer: EndReport;
  readonly conversation: ConversationReport;
}

function endsOf(fleet: readonly Member[]): End[] {
  return fleet.flatMap(({ host, analysis }) =>
    analysis.conversations
      .filter(({ sameAs }) => sameAs === 0)
      .flatMap((conversation) =>
        ([0, 1] as const).map((side) => ({
          host,
          of: conversation.ends[side],
          peer: conversation.ends[side === 0 ? 1 : 0],
          conversation,
        })),
      ),
  );
}

function eventsOf(fleet: readonly Member[], ...kinds: readonly string[]): { member: Member; event: TransportEvent }[] {
  return fleet.flatMap((member) =>
    member.analysis.events.filter(({ kind }) => kinds.includes(kind)).map((event) => ({ member, event })),
  );
}

/** Sums by the words of a key. */
function tally<T>(all: readonly T[], keyOf: (one: T) => readonly unknown[], amount: (one: T) => number = () => 1) {
  const sums = new Map<string, number>();
  for (const one of all) {
    const key = keyOf(one).join(' | ');
    sums.set(key, (sums.get(key) ?? 0) + amount(one));
  }
  return Object.fromEntries([...sums].filter(([, sum]) => sum > 0));
}

/** The same of an answer. */
const tallied = (rows: readonly Row[], keys: readonly string[], amount: string) =>
  tally(
    rows,
    (row) => keys.map((key) => row[key]),
    (row) => Number(row[amount]),
  );

describeWith('duckdb', 'the questions of docs/export.md', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'roce-questions-'));
  afterAll(() => rmSync(scratch, { recursive: true }));
  let fleet: readonly Member[] = [];
  let ask: (sql: string) => Promise<Row[]> = async () => [];

  beforeAll(async () => {
    const exported = await exportFleet(scratch);
    fleet = exported.fleet;
    const askDuckDb = await openInDuckDb(exported.folder);
    ask = async (sql) => (await askDuckDb(sql)).map(plain);
  });

  const answer = (number: number): Promise<Row[]> => ask(question(number));

  it('are as many as are asked below', () => {
    expect(QUESTIONS.length).toBe(13);
  });

  it('1: pairs that retransmit', async () => {
    const rows = await answer(1);
    const guilty = endsOf(fleet).filter(({ of }) => of.requester.retransmittedPackets > 0);
    expect(guilty.length).toBeGreaterThan(3);
    expect(guilty.length).toBeLessThan(20);
    expect(tallied(rows, ['host', 'address', 'qpn', 'peer_address', 'peer_qpn'], 'retransmitted_packets')).toEqual(
      tally(
        guilty,
        ({ host, of, peer }) => [host, of.address, known(of.qpn), peer.address, known(peer.qpn)],
        ({ of }) => of.requester.retransmittedPackets,
      ),
    );
    const counts = rows.map(({ retransmitted_packets: count }) => Number(count));
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    const [{ retransmitted_packets, request_packets, percent } = {}] = rows;
    expect(percent).toBeCloseTo((100 * Number(retransmitted_packets)) / Number(request_packets));
  });

  it('2: loss by host and hour', async () => {
    const rows = await answer(2);
    const losses = eventsOf(fleet, 'loss', 'missing');
    expect(tallied(rows, ['host', 'kind'], 'lost')).toEqual(
      tally(
        losses,
        ({ member, event }) => [member.host, event.kind],
        ({ event }) => event.count,
      ),
    );
    expect(rows.length).toBeGreaterThan(2);
    for (const { hour_ns } of rows) expect(Number(BigInt(hour_ns as bigint) % 3_600_000_000_000n)).toBe(0);
  });

  it('3: CNPs', async () => {
    const rows = await answer(3);
    expect(rows.length).toBeGreaterThan(0);
    expect(tallied(rows, ['host', 'address'], 'cnps')).toEqual(
      tally(
        endsOf(fleet),
        ({ host, of }) => [host, of.address],
        ({ of }) => of.congestion.cnpsSent,
      ),
    );
  });

  it('4: receivers that are not ready', async () => {
    const rows = await answer(4);
    expect(rows.length).toBeGreaterThan(0);
    expect(tallied(rows, ['host', 'receiver'], 'naks')).toEqual(
      tally(
        endsOf(fleet),
        ({ host, peer }) => [host, peer.address],
        ({ of }) => of.requester.rnrNaks,
      ),
    );
  });

  it('5: latency of ACKs', async () => {
    const rows = await answer(5);
    const longest = endsOf(fleet)
      .map(({ of }) => of.requester.ackLatency)
      .filter(({ count }) => count > 0)
      .map(({ p99Ns }) => Math.round(p99Ns))
      .sort((a, b) => b - a);
    expect(longest.length).toBeGreaterThan(10);
    expect(rows.map(({ ack_latency_p99_ns }) => ack_latency_p99_ns)).toEqual(longest.slice(0, 20));
  });

  it('6: NAKs and who sends them', async () => {
    const rows = await answer(6);
    const naks = eventsOf(fleet, 'nak');
    expect(Object.keys(tallied(rows, ['detail'], 'naks')).length).toBeGreaterThan(1);
    expect(tallied(rows, ['host', 'sent_by'], 'naks')).toEqual(
      tally(naks, ({ member, event }) => [member.host, endOf(member, event, event.sender).address]),
    );
  });

  it('7: packets lost between two hosts', async () => {
    const rows = await answer(7);
    // Each host captures the first packet of its own first.
    const ends = fleet.find(({ host }) => host === 'A')?.analysis.conversations[0]?.ends;
    const from = (end: 0 | 1) => rows.filter(({ src_ip }) => src_ip === ends?.[end].address);
    const more = (list: readonly Row[], at: string, less: string) =>
      list.filter((row) => Number(row[at]) > Number(row[less]));
    expect(new Set(rows.map(({ opcode }) => opcode))).toEqual(new Set(['RC RDMA WRITE Middle']));
    expect(more(from(0), 'at_a', 'at_b').length).toBe(LOST.fromA);
    expect(more(from(1), 'at_b', 'at_a').length).toBe(LOST.fromB);
    expect(rows.length).toBe(LOST.fromA + LOST.fromB);
  });

  it('8: findings', async () => {
    const rows = await answer(8);
    const findings = fleet.flatMap(({ analysis }) => analysis.findings);
    expect(rows.length).toBeGreaterThan(5);
    expect(tallied(rows, ['severity', 'id'], 'findings')).toEqual(
      tally(findings, ({ severity, id }) => [severity, id]),
    );
    for (const { id, severity, hosts } of rows) {
      const having = fleet.filter(({ analysis }) =>
        analysis.findings.some((finding) => finding.id === id && finding.severity === severity),
      );
      expect([id, hosts]).toEqual([id, having.length]);
    }
  });

  it('9: marks by DSCP', async () => {
    const rows = await answer(9);
    expect(tallied(rows, ['host'], 'packets')).toEqual(
      tally(
        fleet,
        ({ host }) => [host],
        ({ analysis }) => analysis.capture.rocePackets,
      ),
    );
    const marked = rows.filter(({ ecn }) => ecn === 'ce');
    expect(marked.length).toBeGreaterThan(0);
    expect(tallied(marked, ['host'], 'packets')).toEqual(
      tally(eventsOf(fleet, 'ce-mark'), ({ member }) => [member.host]),
    );
  });

  it('10: timeouts with their connection', async () => {
    const rows = await answer(10);
    const timeouts = eventsOf(fleet, 'timeout');
    expect(timeouts.length).toBeGreaterThan(2);
    expect(
      tallied(
        rows.map((row) => ({ ...row, one: 1 })),
        ['host', 'frame', 'address', 'qpn', 'duration_ns'],
        'one',
      ),
    ).toEqual(
      tally(timeouts, ({ member, event }) => {
        const { address, qpn } = endOf(member, event, event.requester);
        return [member.host, event.frame, address, known(qpn), known(event.durationNs)];
      }),
    );
  });

  it('11: links that damage packets', async () => {
    const rows = await answer(11);
    expect(tallied(rows, ['host'], 'packets')).toEqual(
      tally(
        fleet,
        ({ host }) => [host],
        ({ analysis }) => analysis.capture.packets,
      ),
    );
    expect(tallied(rows, ['host'], 'bad_icrc')).toEqual(
      tally(
        fleet,
        ({ host }) => [host],
        ({ analysis }) => analysis.capture.badIcrc,
      ),
    );
    const dissection = new Dissection();
    const vlans = fleet.flatMap(({ host, bytes }) =>
      [...readCapture(bytes)].map((packet) => {
        dissect(packet, dissection);
        const { vlanTci } = dissection.frame;
        return [host, vlanTci < 0 ? null : vlanTci & 0xfff];
      }),
    );
    expect(tallied(rows, ['host', 'vlan'], 'packets')).toEqual(tally(vlans, (one) => one));
  });

  it("12: the network's part of the latency", async () => {
    const rows = await answer(12);
    const latencies = (host: string) => endsOf(fleet.filter((member) => member.host === host));
    expect(rows.length).toBeGreaterThan(0);
    for (const { address, at_requester_ns: near, at_responder_ns: far, network_ns } of rows) {
      const at = (host: string) =>
        latencies(host).find(({ of }) => of.address === address)?.of.requester.ackLatency.p50Ns;
      expect([near, far]).toEqual([at('A'), at('B')]);
      expect(network_ns).toBe(Number(near) - Number(far));
    }
  });

  it('13: what captures cannot know', async () => {
    const rows = await answer(13);
    const limits = fleet.flatMap(({ host, analysis }) =>
      analysis.limits.map(({ kind, text, conversations, interfaces }) => {
        // None is named, and each of these captures has one interface.
        expect([conversations.length, interfaces.filter((index) => index > 0)]).toEqual([0, []]);
        return [host, kind, text, analysis.conversations.length];
      }),
    );
    expect(new Set(limits.map(([, kind]) => kind))).toEqual(new Set(['capture-loss', 'cut', 'sampled']));
    expect(rows.map(({ host, kind, text, conversations }) => [host, kind, text, conversations])).toEqual(limits.sort());
  });

  it('are answered from files that DuckDB knows the types and the version of', async () => {
    const types = await ask(
      'SELECT DISTINCT column_type FROM (DESCRIBE packets) UNION SELECT DISTINCT column_type FROM (DESCRIBE conversation_ends) ORDER BY 1',
    );
    expect(types.map(({ column_type }) => column_type)).toEqual(['BIGINT', 'BOOLEAN', 'INTEGER', 'VARCHAR']);
    const [{ version } = {}] = await ask(
      "SELECT DISTINCT decode(value) AS version FROM parquet_kv_metadata('*/*.parquet') WHERE decode(key) = 'rocev2.schema_version'",
    );
    expect(version).toBe('1');
    // Statistics of row groups: a question about one host does not read the files of others.
    const [{ wrong } = {}] = await ask("SELECT count(*) AS wrong FROM packets WHERE host = 'nobody'");
    expect(wrong).toBe(0);
  });
});

/** As DuckDB has it. */
function known(value: number): number | null {
  return value < 0 ? null : value;
}

function endOf({ analysis }: Member, { conversation }: TransportEvent, side: 0 | 1): EndReport {
  const found = analysis.conversations.find(({ id }) => id === conversation);
  if (found === undefined) throw new Error('the event has a conversation');
  return found.ends[side];
}
