/** Scenes of `slow-responder`: late ACKs, and others that have another reason or cost nothing. */
import { Op } from 'rocev2/packets';
import { Direction } from 'rocev2/pcap';
import { WcStatus } from 'rocev2/transport';
import { roceFrame, station } from './forge.ts';
import { aeth } from './headers.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'slow-responder';

/** All of them. */
export const SLOW_RESPONDER_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'slow-responder-at-requester',
    triggers: true,
    about: 'B answers READs within microseconds, but acknowledges SENDs after 8 ms only, one after the other.',
    make: () => play({ vantages: ['A'] }, (stage) => sends(stage, { count: 16, lateNs: LATE_NS, reads: true })),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-responder-own-host',
    triggers: true,
    about: 'Captured at B itself: what comes in is acknowledged 3 ms later.',
    make: () => play({ vantages: ['B'] }, (stage) => ownHost(stage, 0x1f)),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-responder-no-credits',
    triggers: true,
    about: 'Every ACK is late and carries credits of 0; nothing else shows how long the way is.',
    make: () => play({ vantages: ['A'] }, (stage) => exchange(stage, { credits: 0 })),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-way',
    triggers: false,
    about: 'The way to B takes 4 ms in each direction, for everything.',
    make: () =>
      play({ vantages: ['A'], latencyNs: 4e6 }, (stage) => sends(stage, { count: 16, lateNs: 0, reads: true })),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-acks-that-nobody-waits-for',
    triggers: false,
    about: 'ACKs come 8 ms late, and A goes on sending meanwhile.',
    make: () => play({ vantages: ['A'] }, goesOn),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-program',
    triggers: false,
    about: 'A program sends a message every 8 ms; the ACKs come at once.',
    make: () =>
      play({ vantages: ['A'] }, (stage) => sends(stage, { count: 16, lateNs: 0, reads: true, pauseNs: LATE_NS })),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-behind-read',
    triggers: false,
    about: 'Each SEND stands behind a large READ, whose data takes 8 ms: its ACK comes when that is over.',
    make: () => play({ vantages: ['A'], rateBps: 1e8 }, behindReads),
  },
  {
    symptom: SYMPTOM,
    name: 'slow-a-few-times',
    triggers: false,
    about: 'Five of forty SENDs are acknowledged late, as on a busy host.',
    make: () =>
      play({ vantages: ['A'] }, (stage) => sends(stage, { count: 40, lateNs: LATE_NS, reads: true, late: 5 })),
  },
];

interface SendLoad {
  readonly count: number;
  readonly lateNs: number;
  /** A few READs on another connection before. */
  readonly reads: boolean;
  /** ACKs that come late; default all. */
  readonly late?: number;
  readonly pauseNs?: number;
}

async function sends(stage: Stage, { count, lateNs, reads, late = count, pauseNs = 0 }: SendLoad): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const timeout = 14;
  if (reads) {
    const other = await stage.connect(a, b, { timeout });
    for (let i = 0; i < 4; i++) demandStatus(await other.a.read(other.b, 2_000), WcStatus.Success);
  }
  const pair = await stage.connect(a, b, { timeout, psns: [5_000, 6_000] });
  pair.b.receive(count);
  const match = ({ opcode }: { opcode: number }) => opcode === Op.Acknowledge;
  for (let nth = 1; nth <= (lateNs > 0 ? late : 0); nth++)
    stage.rule({ port: 'B', match, nth, action: 'delay', delayNs: lateNs });
  for (let i = 0; i < count; i++) {
    demandStatus(await pair.a.send(2_000), WcStatus.Success);
    if (pauseNs > 0) await stage.sleep(pauseNs);
  }
}

async function goesOn(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pair = await stage.connect(a, b, { timeout: 14 });
  demandStatus(await pair.a.read(pair.b, 2_000), WcStatus.Success);
  stage.rule({ port: 'B', match: ({ opcode }) => opcode === Op.Acknowledge, action: 'delay', delayNs: LATE_NS });
  const all: Promise<WcStatus>[] = [];
  for (let i = 0; i < 40; i++) {
    all.push(pair.a.write(pair.b, 2_000));
    await stage.sleep(1e6);
  }
  for (const each of all) demandStatus(await each, WcStatus.Success);
}

async function behindReads(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pair = await stage.connect(a, b, { timeout: 16 });
  pair.b.receive(12);
  for (let i = 0; i < 12; i++) {
    const both = [pair.a.read(pair.b, 100_000), pair.a.send(100)];
    for (const each of both) demandStatus(await each, WcStatus.Success);
  }
}

/** Frames by hand, as the capture of B's own host has them, with directions. */
async function ownHost(stage: Stage, credits: number): Promise<void> {
  stage.host('A');
  stage.host('B');
  for (let i = 0; i < 12; i++) {
    stage.forge(ask(i), 'B', Direction.Inbound);
    await stage.sleep(3e6);
    stage.forge(answer(i, credits), 'B', Direction.Outbound);
    await stage.sleep(20_000);
  }
}

async function exchange(stage: Stage, { credits }: { credits: number }): Promise<void> {
  stage.host('A');
  for (let i = 0; i < 12; i++) {
    stage.forge(ask(i));
    await stage.sleep(LATE_NS);
    stage.forge(answer(i, credits));
    await stage.sleep(20_000);
  }
}

function ask(n: number): Uint8Array {
  const [from, to] = [station(1), station(2)];
  const payload = new Uint8Array(512);
  return roceFrame({ from, to, opcode: Op.SendOnly, destQpn: 0x22, psn: 700 + n, ackReq: 1, payload, ipId: 100 + n });
}

function answer(n: number, credits: number): Uint8Array {
  const [from, to] = [station(2), station(1)];
  const headers = aeth(credits, n + 1);
  return roceFrame({ from, to, opcode: Op.Acknowledge, destQpn: 0x11, psn: 700 + n, headers, ipId: 500 + n });
}

const LATE_NS = 8_000_000;
