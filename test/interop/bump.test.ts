/**
 * Goal: what rdma_rxe does when a packet between two of it is lost or damaged is what ref:rxe#7 and ref:rxe#8 say.
 * Method: two guests with a bump between them, one boot; each run of stock rping is a connection of its own with a rule
 * of its own. rping -S 8192 at path MTU 1024: the client SENDs, the server READs 8 packets (PSN 0..7 of the server),
 * SENDs (8), WRITEs 8 packets (9..16) and SENDs (17). The server is on side a. tshark reads the capture.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Syndrome } from '../../packets/aeth.ts';
import { Op } from '../../packets/opcode.ts';
import type { WireRule } from '../../src/faults/rule.ts';
import { QemuLink } from '../../src/node/links/qemu.ts';
import type { BumpAccount } from '../../tools/bump/account.ts';
import { type RunningBump, runBump } from '../../tools/bump/run.ts';
import { analyzeCapture, judgeFindings, SLOW_HOST_WARNINGS } from '../../tools/experiment/findings.ts';
import { rpingFault } from '../../tools/interop/stock-rping.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { type BumpPacket, brief, bumpPackets } from '../support/bump-packets.ts';
import { describeWith } from '../support/need.ts';

const KERNEL = '6.12';
const SERVER = '10.77.0.1';
const RPING_PORT = 7174;
const MTU = 1024;
const FIRST_WRITE = 9;
const LAST_WRITE = 16;
/** 4.096 us * 2^17: what this kernel's REQ asks for. */
const ACK_TIMEOUT_SECONDS = 0.537;
const TIMEOUT_MS = 60_000;
/** Captures stay, for whoever wants to look; git ignores them. */
const DIRECTORY = fileURLToPath(new URL(`../../interop-out/${KERNEL}`, import.meta.url));
/** A bit of the payload: 12 bytes of BTH go before. */
const PAYLOAD_BIT = (12 + 100) * 8 + 3;

const RULES: readonly WireRule[] = [
  { name: 'third WRITE packet', on: { connection: 1, opcode: 'write', psn: 11, iteration: 1 }, do: 'drop' },
  { name: 'middle of a READ', on: { connection: 2, opcode: 'read-response', psn: 3, iteration: 1 }, do: 'drop' },
  {
    name: 'damaged WRITE',
    on: { connection: 3, opcode: 'write', psn: 12, iteration: 1 },
    do: 'corrupt',
    bit: PAYLOAD_BIT,
  },
  { name: 'damaged SEND', on: { connection: 4, opcode: 'send', direction: 'b-to-a', nth: 1 }, do: 'corrupt', bit: 99 },
];

describeWith(['lab', 'tshark'], 'rdma_rxe to rdma_rxe through a bump', () => {
  const guests: Guest[] = [];
  let running: RunningBump | undefined;
  let account: BumpAccount;
  let packets: BumpPacket[];
  let sockets = '';

  beforeAll(async () => {
    const image = await buildImage(KERNEL);
    sockets = mkdtempSync(join(tmpdir(), 'rocev2-bump-lab-'));
    mkdirSync(DIRECTORY, { recursive: true });
    const paths = [join(sockets, 'a'), join(sockets, 'b')] as const;
    const capture = join(DIRECTORY, 'bump.pcapng');
    running = await runBump({
      a: new QemuLink({ path: paths[0] }),
      b: new QemuLink({ path: paths[1] }),
      rules: RULES,
      capturePath: capture,
      accountPath: join(DIRECTORY, 'bump.json'),
    });
    const boot = (id: 1 | 2): Promise<Guest> =>
      Guest.boot({
        image,
        netSocket: { path: paths[id === 1 ? 0 : 1] },
        mac: `52:54:00:00:00:0${id}`,
        addresses: [`10.77.0.${id}/24`],
      });
    const [server, client] = await Promise.all([boot(1), boot(2)]);
    guests.push(server, client);
    for (const rule of RULES) expect(await ping(server, client), rule.name ?? '').toBe('');
    account = await running.stop();
    packets = await bumpPackets(capture, account);
  });

  afterAll(async () => {
    await running?.stop();
    await Promise.all(guests.map((guest) => guest.stop()));
    rmSync(sockets, { recursive: true, force: true });
  });

  /** The conversation of one connection as its server saw or sent it. */
  const atServer = (connection: number): BumpPacket[] =>
    packets.filter((packet) => packet.connection === connection && packet.side === 'a');

  it('does what each rule says to exactly one packet, and learns every connection from CM', () => {
    expect(account.rules.map(({ name, applied }) => ({ name, applied }))).toEqual(
      RULES.map(({ name }) => ({ name, applied: 1 })),
    );
    expect(account.connections.map(({ learnt }) => learnt)).toEqual(['cm', 'cm', 'cm', 'cm']);
    expect(account.events).toHaveLength(4);
  });

  it('leaves a capture in which the analyzer finds what the rules did, and nothing else', () => {
    const findings = ['sequence-error', 'implied-nak', 'icrc-invalid'];
    const wanted = { findings, tolerated: SLOW_HOST_WARNINGS };
    expect(judgeFindings(analyzeCapture(join(DIRECTORY, 'bump.pcapng')), wanted).faults).toEqual([]);
  });

  it('answers a WRITE with a hole with one NAK 0x60 of the missing PSN, and the requester goes back to it', () => {
    const seen = atServer(1);
    expect(seen.filter(isNak).map(brief)).toEqual(['NAK 0x60 11']);
    expectGoBack(seen, 11);
    expect(seen.map(brief)).toContain('ACK 16');
  });

  it('waits for the ACK timeout when a packet inside a READ response is lost, then READs on from the hole', () => {
    const seen = atServer(2);
    expect(seen.filter(isNak)).toEqual([]);
    const reads = seen.filter(({ opcode }) => opcode === Op.ReadRequest);
    expect(reads.map(brief)).toEqual(['READ 0 +8192', 'READ 3 +5120']);
    const [first, again] = reads;
    if (first === undefined || again === undefined) throw new Error('two READs were expected');
    expect((again.va ?? 0n) - (first.va ?? 0n)).toBe(BigInt(3 * MTU));
    // All that was not lost had arrived long before: no gap makes the requester of rdma_rxe ask again at once.
    const responses = seen.filter(({ opcode }) => isReadResponse(opcode));
    const before = responses.filter(({ frame }) => frame < again.frame);
    expect(before.map(({ psn }) => psn)).toEqual([0, 1, 2, 4, 5, 6, 7]);
    expect(again.seconds - (before.at(-1)?.seconds ?? 0)).toBeGreaterThan(ACK_TIMEOUT_SECONDS * 0.9);
    // The responder goes on with the opcodes of the first time: the tail of a READ does not begin with First.
    expect(responses.filter(({ frame }) => frame > again.frame).map(brief)).toEqual([
      'READ response Middle 3',
      'READ response Middle 4',
      'READ response Middle 5',
      'READ response Middle 6',
      'READ response Last 7',
    ]);
  });

  it('drops a damaged packet in silence: the next one draws the NAK', () => {
    expect(atServer(3).filter(isNak).map(brief)).toEqual(['NAK 0x60 12']);
    expectGoBack(atServer(3), 12);
    const atClient = packets.filter((packet) => packet.connection === 3 && packet.side === 'b');
    const damaged = atClient.findIndex(({ comment }) => comment.startsWith('corrupted'));
    const nak = atClient.findIndex(isNak);
    const between = atClient.slice(damaged, nak).filter(({ from }) => from === 'a');
    expect(between.map(({ psn }) => psn).slice(0, 2)).toEqual([12, 13]);
  });

  it('is silent when nothing follows a damaged packet, until the ACK timeout of the sender repeats it', () => {
    const [damaged, repeated, answer] = atServer(4);
    if (damaged === undefined || repeated === undefined) throw new Error('two SENDs were expected');
    expect(damaged.comment).toMatch(/^corrupted/);
    expect([damaged, repeated, answer].map((packet) => packet && brief(packet))).toEqual([
      'SEND Only 0',
      'SEND Only 0',
      'ACK 0',
    ]);
    expect(repeated.seconds - damaged.seconds).toBeGreaterThan(ACK_TIMEOUT_SECONDS * 0.9);
  });
});

/** The requester has sent all it had in order, and then all from `psn` on again. */
function expectGoBack(seen: readonly BumpPacket[], psn: number): void {
  const writes = seen.filter(({ opcode }) => isWrite(opcode)).map((packet) => packet.psn);
  const again = writes.lastIndexOf(psn);
  expect(writes.slice(again)).toEqual(range(psn, LAST_WRITE));
  expect(writes.slice(0, again)).toEqual(range(FIRST_WRITE, writes[again - 1] ?? 0));
  expect(writes.slice(0, again)).toContain(psn + 1);
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const isNak = ({ opcode, syndrome }: BumpPacket): boolean => opcode === Op.Acknowledge && syndrome !== Syndrome.Ack;
const isWrite = (opcode: number): boolean => opcode >= Op.WriteFirst && opcode <= Op.WriteLast;
const isReadResponse = (opcode: number): boolean => opcode >= Op.ReadResponseFirst && opcode <= Op.ReadResponseOnly;

/** One ping of stock rping from client to server; what went wrong, or nothing. */
async function ping(server: Guest, client: Guest): Promise<string> {
  const job = server.spawn(`rping -s -a ${SERVER} -C 1 -S 8192 -v -V`);
  try {
    const listening = `rdma resource show cm_id | grep LISTEN | grep -q ':${RPING_PORT}'`;
    await server.run(`for i in $(seq 100); do ${listening} && exit 0; sleep 0.1; done; exit 1`);
    const result = await client.run(`rping -c -a ${SERVER} -C 1 -S 8192 -v -V`, { timeoutMs: TIMEOUT_MS });
    return rpingFault(result, 1) || rpingFault(await job.wait(TIMEOUT_MS), 1);
  } finally {
    await job.kill('KILL');
  }
}
