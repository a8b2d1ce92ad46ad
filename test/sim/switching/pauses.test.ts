/**
 * Goal: what a port has to say about pauses is never late and never piles up, and pauses that end leave nothing behind.
 * Method: memory without a pool, so that every frame makes a pause and a resume; frames of flow control watched on the
 * wire.
 */
import { describe, expect, it } from 'vitest';
import { MAX_ETHERNET_BYTES } from '../../../packets/ethernet.ts';
import { type Pfc, readPfc } from '../../../packets/pfc.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { losslessHeadroomBytes, PauseState } from '../../../src/sim/buffer/index.ts';
import { EgressPort } from '../../../src/sim/switching/egress-port.ts';
import { FrameStore } from '../../../src/sim/switching/frame-store.ts';
import { CONTROL, settingsOf } from '../../../src/sim/switching/options.ts';
import { Pauses } from '../../../src/sim/switching/pauses.ts';
import { PortTable } from '../../../src/sim/switching/port-table.ts';
import { EventKind, KIND_BITS, KIND_MASK, Transmitter } from '../../../src/sim/switching/transmitter.ts';
import { star } from '../../../src/sim/topology/index.ts';
import { BYTE_A_NS, type Rig, rig } from './support.ts';

const LINK = { rateBps: 100e9, delayNs: 1000 };
const PAIR = star({ hosts: 2, link: LINK });
const MTU = 1500;
const HEADROOM = losslessHeadroomBytes({ ...LINK, maxFrameBytes: MTU + MAX_ETHERNET_BYTES });

/** A star whose switch has reserves and headroom and nothing else, for `priorities` of them. */
function withoutPool(hosts: number, losslessPriorities = 1 << 3): Rig {
  const count = losslessPriorities.toString(2).replaceAll('0', '').length;
  const bufferBytes = hosts * (4096 + HEADROOM) * count;
  return rig(star({ hosts, link: LINK }), {
    mtu: MTU,
    switches: { flowControl: 'pfc', bufferBytes, headroomBytes: HEADROOM, losslessPriorities },
  });
}

interface Seen extends Pfc {
  readonly at: number;
  readonly port: string;
  readonly waiting: number;
}

/** Frames of flow control as they begin to leave. */
function watch({ network }: Rig): Seen[] {
  const seen: Seen[] = [];
  network.tap = {
    frame: (at, port, direction, bytes, start, end) => {
      if (direction !== 'out') return;
      const pfc = readPfc(new DataView(bytes.buffer), start, end);
      if (pfc !== undefined) seen.push({ ...pfc, at, port: port.name, waiting: port.queueFramesOf(CONTROL) });
    },
  };
  return seen;
}

describe('pauses at memory without a pool', () => {
  for (const bytes of [64, 200, 1500])
    it(`lose nothing of frames of ${bytes} bytes in both directions, and one at most waits at a port`, () => {
      const made = withoutPool(5);
      const { world, network, station } = made;
      const count = 300;
      for (let host = 0; host < 5; host++) station(host).send({ to: (host + 1) % 5, bytes }, count);
      for (let host = 1; host < 5; host++) station(host).send({ to: 0, bytes, sourcePort: 7 }, count);
      let mostWaiting = 0;
      const limit = 1e8;
      while (network.counters.delivered < 9 * count && world.now < limit) {
        world.step();
        for (const port of network.egressPorts) mostWaiting = Math.max(mostWaiting, port.queueFramesOf(CONTROL));
      }
      expect(network.counters).toMatchObject({ delivered: 9 * count, dropped: 0 });
      expect(mostWaiting).toBe(1);
    });

  it('are counted as they leave, and everybody is let go on in the end', () => {
    const made = withoutPool(4, 0b0010_1000);
    const seen = watch(made);
    const { world, network, station } = made;
    for (const host of [1, 2, 3]) {
      station(host).send({ to: 0, bytes: 300, dscp: 26 }, 200);
      station(host).send({ to: 0, bytes: 300, dscp: 40 }, 200);
      station(0).send({ to: host, bytes: 1500 }, 200);
    }
    world.runUntilIdle({ maxTimeNs: 1e9 });
    expect(network.counters).toMatchObject({ delivered: 1800, dropped: 0 });
    expect(seen.length).toBeGreaterThan(100);
    for (const { name, counters } of network.egressPorts) {
      const of = seen.filter(({ port }) => port === name);
      const pauses = of.filter(({ quanta }) => quanta.some((each) => each > 0)).length;
      expect([counters.pausesSent, counters.resumesSent]).toEqual([pauses, of.length - pauses]);
    }
    for (const name of ['switch0:0', 'switch0:1', 'switch0:2', 'switch0:3'])
      for (const priority of [3, 5]) {
        const last = seen.findLast(({ port, enableVector }) => port === name && (enableVector >> priority) & 1);
        expect(last?.quanta[priority] ?? 0, `${name} ${priority}`).toBe(0);
      }
  });

  it('leave a look or two at each port behind and not one for every pause', () => {
    const { world, network, station } = withoutPool(3);
    for (const host of [1, 2]) station(host).send({ to: 0, bytes: 100 }, 500);
    world.runUntil(() => network.counters.delivered === 1000);
    const { events } = network;
    expect(network.counters.pausesSent).toBeGreaterThan(100);
    world.runUntilIdle();
    expect(network.events - events).toBeLessThan(3 * network.egressPorts.length);
  });
});

/** One link between two ports, 8 Gb/s and no delay, without a network: who says what, and what comes of it. */
class Ends {
  readonly store = new FrameStore(MTU);
  readonly transmitter = new Transmitter(this.store, settingsOf({ topology: PAIR, seed: 1 }), new Prng(1));
  readonly pauses = new Pauses(this.transmitter);
  /** Sends data and is paused. */
  readonly nic: EgressPort;
  /** Asks for pauses. */
  readonly asking: EgressPort;
  readonly said: Pfc[] = [];
  readonly arrivals: number[] = [];
  events = 0;

  constructor() {
    const table = new PortTable(2);
    const make = (index: number, name: string): EgressPort =>
      new EgressPort({
        index,
        node: index,
        port: 0,
        name,
        rateBps: BYTE_A_NS,
        delayNs: 0,
        clock: this.transmitter,
        table,
      });
    this.nic = make(0, 'nic');
    this.asking = make(1, 'asking');
    this.nic.pauses = new PauseState(BYTE_A_NS);
    this.nic.far = { arrive: (_from, slot) => this.#arrived(slot) };
    this.asking.far = { arrive: (_from, slot) => this.#said(slot) };
  }

  send(port: EgressPort, bytes: number): void {
    this.transmitter.enqueue(port, this.store.take(bytes, 3, 0));
  }

  /** Says so without ever repeating it. */
  ask(priority = 3): void {
    this.pauses.pause(this.asking, priority);
    this.asking.pausing = 0;
  }

  until(time: number): void {
    const { transmitter, pauses } = this;
    for (; transmitter.events.nextTime <= time; this.events++) {
      transmitter.now = transmitter.events.nextTime;
      const payload = transmitter.events.pop();
      const port = payload >>> KIND_BITS === 0 ? this.nic : this.asking;
      const kind = payload & KIND_MASK;
      if (kind === EventKind.WireFree) transmitter.wireFree(port);
      else if (kind === EventKind.Arrival) transmitter.arrival(port);
      else if (kind === EventKind.PauseEnd) pauses.ended(port);
      else pauses.refresh(port);
    }
    transmitter.now = Math.max(transmitter.now, time);
  }

  #arrived(slot: number): void {
    this.arrivals.push(this.transmitter.now);
    this.store.drop(slot);
  }

  #said(slot: number): void {
    const start = this.store.start(slot);
    const pfc = readPfc(this.store.view, start, start + this.store.length(slot));
    if (pfc !== undefined) this.said.push(pfc);
    this.pauses.received(this.nic, slot);
    this.store.drop(slot);
  }
}

/** 65,535 quanta of 512 bits at 8 Gb/s. */
const PAUSE_NS = 65_535 * 64;

describe('a pause', () => {
  it('that is not repeated ends by itself, to the nanosecond, and later when it is asked for again', () => {
    const ends = new Ends();
    ends.ask();
    ends.until(64);
    expect(ends.nic.isBlocked(3)).toBe(true);
    ends.send(ends.nic, 1000);
    ends.until(1000);
    ends.ask();
    ends.until(2e7);
    expect(ends.arrivals).toEqual([1064 + PAUSE_NS + 1000]);
    expect(ends.nic.counters).toMatchObject({ pausedNs: 1000 + PAUSE_NS, pausesReceived: 2 });
  });

  it('of each priority ends when its own time has come', () => {
    const ends = new Ends();
    ends.ask(5);
    ends.until(500);
    ends.ask(3);
    ends.until(64 + PAUSE_NS);
    expect([ends.nic.isBlocked(5), ends.nic.isBlocked(3)]).toEqual([false, true]);
    ends.until(564 + PAUSE_NS - 1);
    expect(ends.nic.isBlocked(3)).toBe(true);
    ends.until(564 + PAUSE_NS);
    expect(ends.nic.isBlocked(3)).toBe(false);
  });

  it('that ended at once leaves one event behind, however often it comes', () => {
    const ends = new Ends();
    for (let i = 0; i < 1000; i++) {
      ends.ask();
      ends.until(200 * i + 100);
      ends.pauses.resume(ends.asking, 3);
      ends.until(200 * i + 200);
    }
    expect(ends.nic.blocked).toBe(0);
    // The look at the end, and the repetition that found nothing to repeat.
    expect(ends.transmitter.events.size).toBeLessThanOrEqual(2);
  });

  it('that waits for the wire says what holds when it leaves, of all priorities', () => {
    const ends = new Ends();
    ends.send(ends.asking, 1000);
    ends.pauses.pause(ends.asking, 3);
    ends.pauses.pause(ends.asking, 5);
    ends.pauses.pause(ends.asking, 7);
    ends.pauses.resume(ends.asking, 3);
    ends.pauses.resume(ends.asking, 7);
    ends.pauses.pause(ends.asking, 7);
    expect(ends.asking.queueFramesOf(CONTROL)).toBe(1);
    ends.until(1000 + 64);
    expect(ends.said.map(({ enableVector, quanta }) => [enableVector, ...quanta])).toEqual([
      [0b1010_1000, 0, 0, 0, 0, 0, 0xff_ff, 0, 0xff_ff],
    ]);
    expect([3, 5, 7].map((priority) => ends.nic.isBlocked(priority))).toEqual([false, true, true]);
    ends.pauses.resume(ends.asking, 5);
    ends.pauses.resume(ends.asking, 7);
    ends.until(3000);
    expect(ends.nic.blocked).toBe(0);
    // The first of the two found the wire free.
    expect(ends.said.slice(1).map(({ enableVector }) => enableVector)).toEqual([1 << 5, 1 << 7]);
    expect(ends.store.used).toBe(0);
  });

  it('is repeated at half of its time for those priorities that it still holds for', () => {
    const ends = new Ends();
    ends.pauses.pause(ends.asking, 3);
    ends.until(500);
    ends.pauses.pause(ends.asking, 5);
    ends.until(1000);
    ends.pauses.resume(ends.asking, 3);
    ends.until(Math.ceil(PAUSE_NS / 2) + 63);
    expect(ends.said.length).toBe(3);
    ends.until(Math.ceil(PAUSE_NS / 2) + 64);
    expect(ends.said[3]).toMatchObject({ enableVector: 1 << 5 });
    ends.until(10 * PAUSE_NS + 1000);
    expect(ends.nic.isBlocked(5)).toBe(true);
    expect(ends.nic.isBlocked(3)).toBe(false);
    expect(ends.said.length).toBe(3 + 20);
  });
});
