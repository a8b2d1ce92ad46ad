/**
 * Goal: who forges congestion notifications can slow a flow down to its minimum and no further, is counted, and does
 * nothing at all without the right addresses, P_Key, queue pair and ICRC. No notification ever draws one.
 * Method: two devices of ours on real links, a bump between them, and somebody who puts frames on the wire in the name
 * of the peer; data is sent and compared all the while.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { CNP_BYTES, writeCnp } from '../../packets/cnp.ts';
import { Medium } from '../../packets/frame.ts';
import { type FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import type { LinkSink } from '../../src/ground/link.ts';
import { LinkDecorator } from '../../src/node/links/decorator.ts';
import type { CongestionOptions } from '../../transport/congestion/index.ts';
import { type Connected, connect, openStation, type Station, transfer } from '../support/bump-station.ts';

const LINE_RATE = 1e9;
const MIN_RATE = 20e6;
const FLOOD = 20_000;
const BATCH = 64;
/** 4.3 s: nothing is lost here. */
const PATIENT = 20;

/**
 * Neither recovers by itself: what a notification has taken stays taken, so that the end is the same on every machine.
 */
const NEVER_NS = 1e12;
const PAPER = { minRateBps: MIN_RATE, rateTimerNs: NEVER_NS, alphaTimerNs: NEVER_NS, byteCounterBytes: 0 };
const MLX = { rpgMinRateBps: MIN_RATE, rpgTimeResetNs: NEVER_NS, dceTcpRttNs: NEVER_NS, rpgByteResetBytes: 0 };
const PROFILES: readonly (readonly [string, CongestionOptions])[] = [
  ['paper', { lineRateBps: LINE_RATE, reaction: { kind: 'dcqcn', profile: 'paper', parameters: PAPER } }],
  ['mlx', { lineRateBps: LINE_RATE, reaction: { kind: 'dcqcn', profile: 'mlx', parameters: MLX } }],
];

/** A link through which somebody else speaks as well. */
class ForgedLink extends LinkDecorator {
  #sink: LinkSink | undefined;

  start(sink: LinkSink): Promise<void> {
    this.#sink = sink;
    return this.inner.start(sink);
  }

  send(batch: FrameBatch, from: number): number {
    return this.inner.send(batch, from);
  }

  forge(batch: FrameBatch): void {
    this.#sink?.receive(batch);
  }
}

interface Forgery {
  readonly source?: string;
  readonly destination?: string;
  readonly pkey?: number;
  readonly qpn?: number;
  readonly trafficClass?: number;
  readonly damage?: boolean;
  readonly count?: number;
}

let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rocev2-flood-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A connection from a to b, and the one who forges; `attack` resolves when a has seen all of it. */
class Scene {
  readonly station: Station;
  readonly connected: Connected;
  readonly #link: ForgedLink;

  private constructor(station: Station, connected: Connected, link: ForgedLink) {
    this.station = station;
    this.connected = connected;
    this.#link = link;
  }

  static async open(congestion: CongestionOptions): Promise<Scene> {
    const links: ForgedLink[] = [];
    const around = (inner: ConstructorParameters<typeof ForgedLink>[0]): ForgedLink => {
      const link = new ForgedLink(inner);
      links.push(link);
      return link;
    };
    const station = await openStation(directory, [], { congestion, around });
    const connected = await connect(station, { ackTimeout: PATIENT });
    const [link] = links;
    if (link === undefined) throw new Error('the station has made no link');
    return new Scene(station, connected, link);
  }

  get rate(): number {
    return this.connected.qp.congestion?.rateBps ?? Infinity;
  }

  counter(name: 'rpCnpHandled' | 'rpCnpIgnored' | 'rpCnpExcess' | 'npCnpSent'): number {
    return this.station.a.portCounters[name];
  }

  async attack(forgery: Forgery = {}): Promise<void> {
    const { a } = this.station;
    const { count = 1 } = forgery;
    const seen = (): number => a.portCounters.rcvdPkts + a.counters.badIcrc;
    for (let left = count; left > 0; left -= BATCH) {
      const wanted = seen() + Math.min(left, BATCH);
      this.#link.forge(this.#frames(forgery, Math.min(left, BATCH)));
      while (seen() < wanted) await new Promise((resolve) => setImmediate(resolve));
      expect(this.rate).toBeGreaterThanOrEqual(MIN_RATE);
    }
  }

  #frames(
    { source, destination, pkey = 0xff_ff, qpn, trafficClass = 48 << 2, damage = false }: Forgery,
    count: number,
  ): FrameWriter {
    const { a, b } = this.station;
    const template = new HeaderTemplate({
      medium: Medium.Ethernet,
      sourceMac: b.mac,
      destMac: a.mac,
      source: IpAddress.parse(source ?? '10.0.0.2'),
      destination: IpAddress.parse(destination ?? '10.0.0.1'),
      trafficClass,
      hopLimit: 64,
      flowLabel: 0,
      sourcePort: 50_000,
    });
    const writer = new FrameWriter(count, 128);
    for (let i = 0; i < count; i++) {
      const bth = writer.begin(template);
      writeCnp(writer.view, bth, pkey, qpn ?? this.connected.qp.qpn, 1);
      writer.end(template, bth + CNP_BYTES);
      // A bit of the reserved bytes, which nobody reads: the ICRC alone tells.
      if (damage) writer.view.setUint8(bth + CNP_BYTES - 1, 1);
    }
    return writer;
  }

  async close(): Promise<void> {
    await this.connected.active.disconnect();
    await this.station.close();
  }
}

describe.each(PROFILES)('a flood of forged notifications, profile %s', (_, congestion) => {
  it('takes a flow down to its minimum and no further, is counted, and costs no data', async () => {
    const scene = await Scene.open(congestion);
    expect(scene.rate).toBe(LINE_RATE);
    const rounds = 10;
    for (let round = 0; round < rounds; round++) {
      await Promise.all([
        transfer(scene.connected, round % 2 === 0 ? 'write' : 'read'),
        scene.attack({ count: FLOOD / rounds }),
      ]);
    }
    // How many count hangs on how long the flood takes: one in a millisecond. `attack` looks at the rate.
    expect(scene.counter('rpCnpHandled') + scene.counter('rpCnpExcess')).toBe(FLOOD);
    expect(scene.counter('rpCnpExcess')).toBeGreaterThan(FLOOD / 2);
    expect([scene.counter('rpCnpIgnored'), scene.counter('npCnpSent')]).toEqual([0, 0]);
    await scene.close();
  });

  it.each<[string, Forgery]>([
    ['another address than the peer has', { source: '10.0.0.3' }],
    ['another address than ours', { destination: '10.0.0.7' }],
    ['another P_Key', { pkey: 0x81_23 }],
  ])('from %s does nothing, and is counted as ignored', async (_name, forgery) => {
    const scene = await Scene.open(congestion);
    await scene.attack({ ...forgery, count: 500 });
    expect([scene.counter('rpCnpHandled'), scene.counter('rpCnpIgnored'), scene.rate]).toEqual([0, 500, LINE_RATE]);
    await transfer(scene.connected, 'write');
    await scene.close();
  });

  it('for a queue pair that is none, or with a wrong ICRC, does nothing and is counted where such packets are', async () => {
    const scene = await Scene.open(congestion);
    const { counters } = scene.station.a;
    await scene.attack({ qpn: scene.connected.qp.qpn ^ 0x10, count: 300 });
    await scene.attack({ damage: true, count: 200 });
    expect([counters.badQpn, counters.badIcrc]).toEqual([300, 200]);
    expect([scene.counter('rpCnpHandled'), scene.counter('rpCnpIgnored'), scene.rate]).toEqual([0, 0, LINE_RATE]);
    await scene.close();
  });

  it('that are marked themselves draws none', async () => {
    const scene = await Scene.open(congestion);
    await scene.attack({ trafficClass: (48 << 2) | 3, count: 200 });
    expect(scene.counter('rpCnpHandled') + scene.counter('rpCnpExcess')).toBe(200);
    expect(scene.counter('npCnpSent')).toBe(0);
    await scene.close();
  });
});

describe('a queue pair that does not react', () => {
  it('ignores notifications and counts them', async () => {
    const scene = await Scene.open({ reaction: { kind: 'none' } });
    const { qp } = scene.connected;
    expect(qp.congestion).toBeUndefined();
    await Promise.all([transfer(scene.connected, 'write'), scene.attack({ count: 64 })]);
    expect([scene.counter('rpCnpHandled'), scene.counter('rpCnpIgnored')]).toEqual([0, 64]);
    await scene.close();
  });
});
