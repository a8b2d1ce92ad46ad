/**
 * Goal: what is known of a neighbour becomes old, is asked for anew when it is used, and is dropped only when nobody
 * answers; static entries do none of this.
 * Method: one instance, its clock in our hand, and the frames it sends.
 */
import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress, IpPrefix, parseMac } from '../../../packets/address.ts';
import { Frame, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import {
  advertisementFrame,
  arpReplyFrame,
  type FrameEndpoint,
  solicitationFrame,
} from '../../../src/device/host/neighbour-frames.ts';
import { Neighbours, type NeighboursOptions } from '../../../src/device/host/neighbours.ts';

const SECOND = 1e9;
const US: FrameEndpoint = { mac: parseMac('02:00:00:00:00:01'), address: IpAddress.parse('10.0.0.1') };
const US6: FrameEndpoint = { mac: US.mac, address: IpAddress.parse('fd00::1') };
const OLD_MAC = parseMac('02:00:00:00:00:02');
const NEW_MAC = parseMac('02:00:00:00:00:22');
const PEER = IpAddress.parse('10.0.0.2');
const PEER6 = IpAddress.parse('fd00::2');
const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const UNICAST = formatMac(OLD_MAC);

function ours(options: Partial<NeighboursOptions> = {}): Neighbours {
  const addresses = ['10.0.0.1/24', 'fd00::1/64'].map((text) => IpPrefix.parse(text));
  return new Neighbours({ mac: US.mac, addresses, ...options });
}

function give(neighbours: Neighbours, now: number, bytes: Uint8Array): void {
  const frame = new Frame();
  const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
  neighbours.handleFrame(now, frame, status);
}

/** Destinations of what is sent now. */
function asked(neighbours: Neighbours, now: number): string[] {
  const writer = new FrameWriter(8, 128);
  neighbours.poll(now, writer);
  return Array.from({ length: writer.count }, (_, i) => formatMac(writer.bytes, writer.starts[i] ?? 0));
}

/** Lets deadlines come until none is left; time and destination of each question. */
function askedUntilSilent(neighbours: Neighbours, now: number): string[] {
  const log = asked(neighbours, now).map((to) => `${now / SECOND} ${to}`);
  for (let due = neighbours.nextDeadline(); due < Infinity; due = neighbours.nextDeadline()) {
    neighbours.handleTimeouts(due);
    log.push(...asked(neighbours, due).map((to) => `${due / SECOND} ${to}`));
  }
  return log;
}

const known = (neighbours: Neighbours, address = PEER): string | undefined => {
  const mac = neighbours.lookup(address);
  return mac === undefined ? undefined : formatMac(mac);
};

/** Has heard of the peer at time 0, by its question. */
function acquainted(options: Partial<NeighboursOptions> = {}): Neighbours {
  const neighbours = ours(options);
  give(neighbours, 0, solicitationFrame({ mac: OLD_MAC, address: PEER }, US.address));
  give(neighbours, 0, solicitationFrame({ mac: OLD_MAC, address: PEER6 }, US6.address));
  asked(neighbours, 0);
  return neighbours;
}

describe('ageing', () => {
  it('asks nothing for 30 s, and nothing ever while nobody uses what is known', () => {
    const a = acquainted();
    expect(a.use(29 * SECOND, PEER)).toBe(30 * SECOND);
    expect([asked(a, 29 * SECOND), a.nextDeadline()]).toEqual([[], Infinity]);
    a.handleTimeouts(3600 * SECOND);
    expect([asked(a, 3600 * SECOND), known(a)]).toEqual([[], UNICAST]);
  });

  it('asks the neighbour itself first, then everybody, while the old address serves, and drops it after that', () => {
    const a = acquainted();
    expect(a.use(40 * SECOND, PEER)).toBe(41 * SECOND);
    expect(known(a)).toBe(UNICAST);
    expect(askedUntilSilent(a, 40 * SECOND)).toEqual([
      `40 ${UNICAST}`,
      `41 ${UNICAST}`,
      `42 ${UNICAST}`,
      `43 ${BROADCAST}`,
      `44 ${BROADCAST}`,
      `45 ${BROADCAST}`,
    ]);
    expect([known(a), a.counters.lost]).toEqual([undefined, 1]);
    a.use(50 * SECOND, PEER);
    expect(askedUntilSilent(a, 50 * SECOND)).toEqual([`50 ${BROADCAST}`, `51 ${BROADCAST}`, `52 ${BROADCAST}`]);
  });

  it('solicits an IPv6 neighbour at its own addresses, and its group afterwards', () => {
    const a = acquainted();
    a.use(40 * SECOND, PEER6);
    const log = askedUntilSilent(a, 40 * SECOND).map((line) => line.slice(3));
    expect(log).toEqual([UNICAST, UNICAST, UNICAST, ...Array.from({ length: 3 }, () => '33:33:ff:00:00:02')]);
  });

  it.each([
    ['ARP reply', PEER, (mac: Uint8Array) => arpReplyFrame({ mac, address: PEER }, US)],
    ['advertisement', PEER6, (mac: Uint8Array) => advertisementFrame({ mac, address: PEER6 }, US6)],
  ])('is sure for another 30 s after an %s', (_name, address, answer) => {
    const a = acquainted();
    a.use(40 * SECOND, address);
    expect(asked(a, 40 * SECOND)).toEqual([UNICAST]);
    give(a, 41 * SECOND, answer(OLD_MAC));
    expect([a.nextDeadline(), a.use(41 * SECOND, address), a.pollMoved()]).toEqual([Infinity, 71 * SECOND, PEER]);
    // The first news of both addresses, and no more.
    expect([a.pollMoved(), a.pollMoved(), a.counters.moved]).toEqual([PEER6, undefined, 0]);
  });

  it('finds a neighbour at another MAC address, and says so once', () => {
    const a = acquainted();
    while (a.pollMoved() !== undefined);
    a.use(40 * SECOND, PEER);
    for (const second of [41, 42, 43]) a.handleTimeouts(second * SECOND);
    give(a, 43 * SECOND, arpReplyFrame({ mac: NEW_MAC, address: PEER }, US));
    expect([known(a), a.counters.moved, a.nextDeadline()]).toEqual([formatMac(NEW_MAC), 1, Infinity]);
    expect([a.pollMoved()?.toString(), a.pollMoved()]).toEqual(['10.0.0.2', undefined]);
  });

  it('probes a peer at once when it falls silent, but not within a second of having heard it', () => {
    const a = acquainted();
    a.doubt(0.9 * SECOND, PEER);
    expect(asked(a, 0.9 * SECOND)).toEqual([]);
    a.doubt(SECOND, PEER);
    a.doubt(SECOND, PEER);
    expect([asked(a, SECOND), known(a)]).toEqual([[UNICAST], UNICAST]);
    a.doubt(1.2 * SECOND, PEER);
    expect(asked(a, 1.2 * SECOND)).toEqual([]);
    for (const [at, to] of [
      [1.25, UNICAST],
      [1.5, UNICAST],
      [1.75, BROADCAST],
    ] as const) {
      a.handleTimeouts(at * SECOND);
      expect(asked(a, at * SECOND)).toEqual([to]);
    }
    give(a, 1.8 * SECOND, arpReplyFrame({ mac: OLD_MAC, address: PEER }, US));
    expect(a.nextDeadline()).toBe(Infinity);
  });

  it('asks the neighbour in quicker succession when its silence shows while it is asked', () => {
    const a = acquainted();
    a.use(40 * SECOND, PEER);
    expect(asked(a, 40 * SECOND)).toEqual([UNICAST]);
    a.doubt(40.5 * SECOND, PEER);
    expect([asked(a, 40.5 * SECOND), a.nextDeadline()]).toEqual([[UNICAST], 40.75 * SECOND]);
  });

  it('does not begin to doubt what it does not know', () => {
    const a = ours();
    a.doubt(SECOND, PEER);
    expect([asked(a, SECOND), a.nextDeadline()]).toEqual([[], Infinity]);
  });

  it('makes room with what is being asked for again, and forgets the question with it', () => {
    const a = acquainted({ strangers: { maxNeighbours: 2 } });
    a.use(40 * SECOND, PEER);
    give(a, 40 * SECOND, solicitationFrame({ mac: NEW_MAC, address: IpAddress.parse('10.0.0.3') }, US.address));
    expect([known(a), a.nextDeadline(), asked(a, 40 * SECOND)]).toEqual([undefined, Infinity, [formatMac(NEW_MAC)]]);
  });
});

describe('a static neighbour', () => {
  const given = (): Neighbours => ours({ neighbours: [{ address: PEER, mac: OLD_MAC }] });

  it('is known from the start and never asked for', () => {
    const a = given();
    a.resolve(0, PEER);
    expect([a.pollResolved(), a.use(1e15, PEER), a.nextDeadline()]).toEqual([
      { address: PEER, mac: OLD_MAC },
      Infinity,
      Infinity,
    ]);
    a.doubt(1e15, PEER);
    expect(asked(a, 1e15)).toEqual([]);
  });

  it('is changed by nothing that is heard, and cannot be forgotten', () => {
    const a = given();
    give(a, 0, solicitationFrame({ mac: NEW_MAC, address: PEER }, US.address));
    give(a, 0, arpReplyFrame({ mac: NEW_MAC, address: PEER }, US));
    a.forget(PEER);
    expect([known(a), a.pollMoved(), a.counters.learnt]).toEqual([UNICAST, undefined, 0]);
  });

  it('gives way to no other entry', () => {
    const a = ours({ neighbours: [{ address: PEER, mac: OLD_MAC }], strangers: { maxNeighbours: 1 } });
    for (const host of [3, 4, 5])
      give(a, 0, solicitationFrame({ mac: NEW_MAC, address: IpAddress.parse(`10.0.0.${host}`) }, US.address));
    expect(known(a)).toBe(UNICAST);
  });

  it('may be on a network that is not ours, and may be the gateway', () => {
    const far = IpAddress.parse('192.168.7.7');
    const a = ours({
      gateway: PEER,
      neighbours: [
        { address: far, mac: NEW_MAC },
        { address: PEER, mac: OLD_MAC },
      ],
    });
    expect([known(a, far), known(a, IpAddress.parse('192.168.7.8'))]).toEqual([formatMac(NEW_MAC), UNICAST]);
  });

  it.each([
    ['10.0.0.1', '02:00:00:00:00:02', /10.0.0.1 cannot be a neighbour's address/],
    ['224.0.0.1', '02:00:00:00:00:02', /224.0.0.1 cannot be/],
    ['0.0.0.0', '02:00:00:00:00:02', /0.0.0.0 cannot be/],
    ['10.0.0.2', 'ff:ff:ff:ff:ff:ff', /ff:ff:ff:ff:ff:ff cannot be a neighbour's MAC address/],
    ['10.0.0.2', '00:00:00:00:00:00', /00:00:00:00:00:00 cannot be/],
  ])('is not %s at %s', (address, mac, message) => {
    expect(() => ours({ neighbours: [{ address: IpAddress.parse(address), mac: parseMac(mac) }] })).toThrow(message);
  });
});
