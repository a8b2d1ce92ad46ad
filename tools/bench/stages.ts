/**
 * Where the time of a small message goes: a 64-byte RC WRITE from `postSend` to the wire and from the wire to the CQ,
 * in nanoseconds a stage, beside the same message in a simulated world.
 *
 * Two devices are driven by hand, 32 messages at a time: the call of each step is timed as a whole, which needs no
 * clock inside of the stack. Writing, parsing and ICRCs are timed in loops of their own, on the same bytes: a call's
 * own work is the rest.
 */
import { computeIcrc, Frame, type FrameBatch, FrameWriter, icrcMatches, Medium, parseFrame } from 'rocev2/packets';
import { SimulatedNetwork } from 'rocev2/sim';
import { WorkCompletion } from 'rocev2/transport';
import { type Bench, type BenchPart, contest, median, rowFrom, scaled } from './bench.ts';
import { writeWriteOnly } from './packets.ts';
import { BenchPair } from './pair.ts';

const MESSAGE_BYTES = 64;
/** What a queue pair may send in a turn. */
const BATCH = 32;
const BATCHES = 4000;
const MTU = 1024;
const SLOT_BYTES = 4096;

/** In the order in which a message meets them. */
const STAGES = [
  'post: checks, send queue, scheduling',
  'send: turn, window, opcode, the rest of transmit',
  'write: headers, payload, lengths',
  'ICRC made',
  'wire: the simulated network',
  'parse: every length once',
  'ICRC verified',
  'execute: queue pair, PSN, key, copy, ACK queued',
  'acknowledge: ACKs, merged, to the wire',
  'complete: the ACK arrives, completions queued',
  'poll: out of the CQ',
] as const;

export const stagesBench: Bench = {
  name: 'stages',
  title: 'stages of a 64-byte WRITE, by hand and in a world',
  async run(settings) {
    const byHand = new StagedPair();
    const world = new BenchPair(MTU, BATCH * MESSAGE_BYTES);
    world.connect(1);
    const batches = scaled(BATCHES, settings);
    byHand.measure(batches);
    inWorld(world, batches);
    const rounds: (readonly number[])[] = [];
    const worlds: number[] = [];
    for (let round = 0; round < settings.rounds; round++) {
      rounds.push(byHand.measure(batches));
      worlds.push(inWorld(world, batches));
    }
    const totals = rounds.map((stages) => stages.reduce((sum, ns) => sum + ns));
    const row = rowFrom(this.name, { unit: 'ns/message', peer: 'the same in a world' }, totals, worlds);
    return { ...row, parts: STAGES.map((name, stage) => partOf(name, rounds, stage)) };
  },
};

/** The same, as a rate. */
export const messagesBench: Bench = {
  name: 'messages',
  title: '64-byte WRITEs a second from one device to another in a world',
  async run(settings) {
    const world = new BenchPair(MTU, BATCH * MESSAGE_BYTES);
    world.connect(1);
    const batches = scaled(BATCHES, settings);
    return contest(this.name, settings, {
      unit: 'a second',
      peer: 'wanted',
      goal: { sense: '>=', ratio: 1 },
      ours: () => 1e9 / inWorld(world, batches),
      theirs: () => 1_500_000,
    });
  },
};

function partOf(name: string, rounds: readonly (readonly number[])[], stage: number): BenchPart {
  return { name, value: median(rounds.map((stages) => stages[stage] as number)) };
}

/** Nanoseconds a message, as an application sees them. */
function inWorld(pair: BenchPair, batches: number): number {
  const [qp] = pair.a.qps;
  if (qp === undefined) throw new Error('a queue pair was connected');
  const began = performance.now();
  for (let batch = 0; batch < batches; batch++) {
    for (let i = 0; i < BATCH; i++) pair.postWrite(qp, i * MESSAGE_BYTES, MESSAGE_BYTES);
    pair.drain(0);
  }
  return nanoseconds(performance.now() - began, batches);
}

/** Two devices whose frames are carried by hand. */
class StagedPair {
  readonly #pair = new BenchPair(MTU, BATCH * MESSAGE_BYTES);
  readonly #requests = new FrameWriter(BATCH * 2, SLOT_BYTES);
  readonly #replies = new FrameWriter(BATCH * 2, SLOT_BYTES);
  readonly #scratch = new FrameWriter(BATCH, SLOT_BYTES);
  readonly #payload = new Uint8Array(MESSAGE_BYTES).fill(0x5a);
  readonly #frame = new Frame();
  readonly #completion = new WorkCompletion();
  readonly #network = new SimulatedNetwork({ medium: Medium.Ip });
  readonly #port = this.#network.attach('from', { mtu: SLOT_BYTES });

  constructor() {
    this.#pair.connect(1);
    const sink = { receive: () => {}, writable: () => {}, closed: () => {} };
    void this.#network.attach('to', { mtu: SLOT_BYTES }).start(sink);
  }

  /** Nanoseconds a message of each stage. */
  measure(batches: number): readonly number[] {
    // Milliseconds: of what is timed as a whole, then of the loops.
    let [post, send, wire, take, acknowledge, complete, poll] = [0, 0, 0, 0, 0, 0, 0];
    let [write, make, parse, verify] = [0, 0, 0, 0];
    for (let batch = 0; batch < batches; batch++) {
      const { a, b } = this.#pair;
      post += timed(() => this.#post());
      send += timed(() => transmitAll(a.device, this.#requests));
      wire += timed(() => this.#carry(this.#requests));
      take += timed(() => b.device.receive(this.#requests));
      acknowledge += timed(() => transmitAll(b.device, this.#replies));
      complete += timed(() => a.device.receive(this.#replies));
      poll += timed(() => this.#poll());
      write += timed(() => this.#write());
      make += timed(() => this.#makeIcrcs(this.#requests));
      parse += timed(() => this.#parse(this.#requests, false));
      verify += timed(() => this.#parse(this.#requests, true));
    }
    verify -= parse;
    const own = [post, send - write - make, write, make, wire, parse, verify, take - parse - verify];
    return [...own, acknowledge, complete, poll].map((ms) => nanoseconds(ms, batches));
  }

  #post(): void {
    const [qp] = this.#pair.a.qps;
    if (qp === undefined) throw new Error('a queue pair was connected');
    for (let i = 0; i < BATCH; i++) this.#pair.postWrite(qp, i * MESSAGE_BYTES, MESSAGE_BYTES);
  }

  #poll(): void {
    let polled = 0;
    while (this.#pair.a.cq.poll(this.#completion)) polled += 1;
    if (polled !== BATCH) throw new Error(`${polled} of ${BATCH} messages completed`);
  }

  #carry(batch: FrameBatch): void {
    if (this.#port.send(batch, 0) !== batch.count) throw new Error('the network takes a batch');
    this.#network.deliverDue(this.#network.nextEventTime());
  }

  #write(): void {
    const writer = this.#scratch;
    writer.reset();
    writer.icrcOffload = true;
    for (let psn = 0; psn < BATCH; psn++) writeWriteOnly(writer, psn, this.#payload, MESSAGE_BYTES);
  }

  #makeIcrcs({ bytes, view, starts, lengths, count }: FrameBatch): void {
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number;
      computeIcrc(bytes, view, start, 4, start + IP_UDP_BYTES, start + (lengths[i] as number) - 4);
    }
  }

  #parse({ bytes, view, starts, lengths, count }: FrameBatch, verify: boolean): void {
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number;
      const status = parseFrame(bytes, view, start, start + (lengths[i] as number), Medium.Ip, this.#frame);
      if (status !== 0 || (verify && !icrcMatches(this.#frame))) throw new Error('the frames are whole');
    }
  }
}

function transmitAll(device: BenchPair['a']['device'], writer: FrameWriter): void {
  writer.reset();
  while (device.transmit(writer));
  if (writer.count === 0) throw new Error('there is something to send');
}

function timed(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function nanoseconds(ms: number, batches: number): number {
  return (ms * 1e6) / (batches * BATCH);
}

const IP_UDP_BYTES = 28;
