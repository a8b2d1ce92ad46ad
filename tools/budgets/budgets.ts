/**
 * The budgets of ref:hostile#3, each with its flood: what leaves for what comes, what an attacker can make a device
 * hold, and how long an honest caller waits. Owns the figures that are promised; docs/security-budgets.md shows them.
 */
import { QpType } from 'rocev2';
import { IpAddress } from 'rocev2/packets';
import { blind, type Drawn, notified, READ_BUDGET, READ_REQUEST_BYTES, read, writing } from './connection.ts';
import {
  arpFrame,
  broadcast,
  igmpQueryFrame,
  LIAR,
  mldQueryFrame,
  nobody,
  pingFrame,
  Requests,
  rejFrame,
  segmentFrame,
  solicitationFrame,
} from './frames.ts';
import { type MakeFrame, OURS, OURS6, PORT, Scene, SECOND } from './scene.ts';

export type BudgetGroup = 'out per in' | 'held' | 'until served';

/** One promise and how it is measured. */
export interface Budget {
  readonly group: BudgetGroup;
  readonly name: string;
  readonly unit: 'frames' | 'bytes' | 'entries' | 'ms';
  /** The most that is allowed. */
  readonly budget: number;
  readonly measure: () => Promise<number>;
}

const SYN = 0x02;
const ACK = 0x10;
const RST = 0x04;
const LIAR6 = IpAddress.parse('fd00::66');
const LINK_LOCAL = IpAddress.parse('fe80::66');
const BROADCAST = IpAddress.parse('255.255.255.255');
type Source = (index: number) => IpAddress;
const ONE: Source = () => LIAR;

const ports = (i: number, to: number) => ({ from: 1024 + (i % 60_000), to });
const requests = (scene: Scene, port: number, from: Source): MakeFrame => {
  const made = new Requests(scene.victim, port);
  return (i) => made.from(from(i));
};
const syns =
  (scene: Scene, port: number, from: Source): MakeFrame =>
  (i) =>
    segmentFrame(from(i), scene.victim, ports(i, port), SYN);

// What leaves for what comes.

/** `make`, once: figures of one run stand in several rows. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Frames and bytes of one run. */
function outPerIn(name: string, frames: number, bytes: number, draw: () => Promise<Drawn>): Budget[] {
  const run = once(draw);
  return [
    { group: 'out per in', name, unit: 'frames', budget: frames, measure: async () => (await run()).frames },
    { group: 'out per in', name, unit: 'bytes', budget: bytes, measure: async () => (await run()).bytes },
  ];
}

/** What a flood draws in 200 s. */
interface Drawing {
  readonly name: string;
  readonly frames: number;
  readonly bytes: number;
  readonly count?: number;
  readonly make: (scene: Scene) => MakeFrame;
  readonly prepare?: (scene: Scene) => Promise<void> | void;
}

const listens = ({ ours }: Scene): void => {
  ours.cm.listen(PORT);
  ours.tcp?.listen(PORT);
};

async function joins(scene: Scene, group: string): Promise<void> {
  const { ours, world } = scene;
  const cq = ours.createCq(16);
  const qp = ours.allocPd().createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
  await world.run(qp.attachMcast(IpAddress.parse(group)));
  await scene.run(10 * SECOND);
}

const DRAWINGS: readonly Drawing[] = [
  { name: 'REQ to a closed port', frames: 1, bytes: 1, make: (scene) => requests(scene, PORT + 1, ONE) },
  { name: 'REQ that nobody reads', frames: 0, bytes: 0, make: (scene) => requests(scene, PORT, ONE) },
  {
    name: 'REQ that is accepted',
    ...{ frames: 9, bytes: 9, count: 1 },
    prepare: (scene) => void scene.serve(PORT + 2, 0, true),
    make: (scene) => requests(scene, PORT + 2, ONE),
  },
  {
    name: 'REQ of 255.255.255.255 to all stations',
    ...{ frames: 0, bytes: 0 },
    make: (scene) => {
      const made = new Requests(scene.victim, PORT + 1);
      return () => broadcast(made.from(BROADCAST));
    },
  },
  {
    name: 'REJ of no connection',
    frames: 0,
    bytes: 0,
    make:
      ({ victim }) =>
      () =>
        rejFrame(LIAR, victim),
  },
  {
    name: 'ARP request',
    frames: 1,
    bytes: 1,
    make:
      ({ victim }) =>
      () =>
        arpFrame(LIAR, victim),
  },
  {
    name: 'ARP answer',
    frames: 0,
    bytes: 0,
    make:
      ({ victim }) =>
      () =>
        arpFrame(LIAR, victim, true),
  },
  {
    name: 'neighbour solicitation',
    ...{ frames: 1, bytes: 1 },
    make:
      ({ victim }) =>
      () =>
        solicitationFrame(LIAR6, { ...victim, address: OURS6 }),
  },
  {
    name: 'ping',
    frames: 1,
    bytes: 1,
    make:
      ({ victim }) =>
      () =>
        pingFrame(LIAR, victim),
  },
  { name: 'SYN to a closed port', frames: 1, bytes: 1, make: (scene) => syns(scene, PORT + 1, ONE) },
  { name: 'SYN to a listener, 64 of them', frames: 4, bytes: 4, count: 64, make: (scene) => syns(scene, PORT, ONE) },
  { name: 'SYN to a listener, 2,000', frames: 1.1, bytes: 1.1, count: 2000, make: (scene) => syns(scene, PORT, ONE) },
  {
    name: 'ACK to a listener',
    ...{ frames: 1, bytes: 1 },
    make:
      ({ victim }) =>
      (i) =>
        segmentFrame(LIAR, victim, ports(i, PORT), ACK),
  },
  {
    name: 'RST',
    ...{ frames: 0, bytes: 0 },
    make:
      ({ victim }) =>
      (i) =>
        segmentFrame(LIAR, victim, ports(i, PORT), RST),
  },
  {
    name: 'IGMP query, ten in a second',
    ...{ frames: 0.12, bytes: 0.15 },
    prepare: (scene) => joins(scene, '239.1.2.3'),
    make: () => () => igmpQueryFrame(LIAR),
  },
  {
    name: 'MLD query, ten in a second',
    ...{ frames: 0.12, bytes: 0.15 },
    prepare: (scene) => joins(scene, 'ff0e::1:2:3'),
    make: () => () => mldQueryFrame(LINK_LOCAL),
  },
];

async function drawn({ make, prepare, count = 100, name }: Drawing): Promise<Drawn> {
  const scene = new Scene();
  listens(scene);
  await prepare?.(scene);
  scene.count();
  scene.flood(count, name.includes('ten in a second') ? 10 : 1000, make(scene));
  await scene.run(200 * SECOND);
  const { attacker, sent } = scene;
  return { frames: sent.frames / attacker.frames, bytes: sent.bytes / attacker.bytes };
}

// What is held.

const FLOOD = 2000;

async function heldAfter(
  make: (scene: Scene) => MakeFrame,
  held: (scene: Scene) => number,
  perSecond = 10_000,
): Promise<number> {
  const scene = new Scene();
  listens(scene);
  scene.count();
  scene.flood(FLOOD, perSecond, make(scene));
  await scene.run((FLOOD / perSecond) * SECOND);
  return held(scene);
}

/** For one address, and for 2,000. */
function held(
  name: string,
  one: number,
  many: number,
  make: (from: Source) => (scene: Scene) => MakeFrame,
  count: (scene: Scene) => number,
): Budget[] {
  const budget = { group: 'held', unit: 'entries' } as const;
  return [
    { ...budget, name: `${name}, one address`, budget: one, measure: () => heldAfter(make(ONE), count) },
    { ...budget, name: `${name}, many addresses`, budget: many, measure: () => heldAfter(make(nobody), count) },
  ];
}

function neighboursOf({ ours }: Scene): number {
  let known = ours.paths.neighbours?.lookup(LIAR) === undefined ? 0 : 1;
  for (let i = 0; i < FLOOD; i++) if (ours.paths.neighbours?.lookup(nobody(i)) !== undefined) known += 1;
  return known;
}

// How long an honest caller waits.

const PER_SECOND = 1500;
type Call = (scene: Scene, port: number) => Promise<unknown>;
const connects: Call = (scene, port) => scene.peer.cm.connect({ address: OURS, port, qp: scene.side(scene.peer).qp });
const dials: Call = async ({ peer, ours }, port) => {
  const { tcp } = peer;
  if (tcp === undefined || ours.tcp === undefined) throw new Error('a device on Ethernet has TCP');
  await tcp.connect(OURS, port);
};

interface Service {
  readonly name: string;
  readonly make: (scene: Scene, from: Source) => MakeFrame;
  readonly call: Call;
  /** Milliseconds, during the flood: one address, many addresses. After it it is `AFTER_MS`. */
  readonly during: readonly [number, number];
  readonly port?: number;
}

/** After a flood, a caller waits no longer than without one: the slow listener takes two milliseconds. */
const AFTER_MS = 3;
/** The flood has ended long ago. */
const QUIET_AT = 20 * SECOND;
const SLOW_NS = SECOND / 500;
const SLOW = PORT + 3;

const SERVICES: readonly Service[] = [
  { name: 'CM, REQs to another listener', make: (s, from) => requests(s, PORT, from), call: connects, during: [1, 1] },
  {
    name: 'CM, REQs to this listener, which takes 500 a second',
    ...{ make: (s, from) => requests(s, SLOW, from), call: connects, during: [20, 9000], port: SLOW },
  },
  { name: 'CM, REQs to a closed port', make: (s, from) => requests(s, PORT + 9, from), call: connects, during: [1, 1] },
  { name: 'CM, ARP requests', make: (s, from) => (i) => arpFrame(from(i), s.victim), call: connects, during: [1, 1] },
  { name: 'CM, pings', make: (s, from) => (i) => pingFrame(from(i), s.victim), call: connects, during: [1, 1] },
  { name: 'TCP, SYNs to this listener', make: (s, from) => syns(s, PORT, from), call: dials, during: [1, 1] },
];

function service({ name, make, call, during, port }: Service): Budget[] {
  const open = (from: Source): Scene => {
    const scene = new Scene();
    listens(scene);
    void scene.serve(PORT + 2);
    void scene.serve(SLOW, SLOW_NS);
    scene.flood(1.5 * PER_SECOND, PER_SECOND, make(scene, from));
    return scene;
  };
  const target = port ?? (call === dials ? PORT : PORT + 2);
  return (
    [
      ['one address', ONE, during[0]],
      ['many addresses', nobody, during[1]],
    ] as const
  ).flatMap(([who, from, budget]) => {
    const group = { group: 'until served', unit: 'ms' } as const;
    const measure = once(async () => {
      const scene = open(from);
      await scene.run(SECOND);
      const inFlood = await scene.msUntil(call(scene, target));
      await scene.run(QUIET_AT - scene.world.now);
      return { inFlood, later: await scene.msUntil(call(scene, target)) };
    });
    return [
      { ...group, name: `${name}, ${who}, during`, budget, measure: async () => (await measure()).inFlood },
      { ...group, name: `${name}, ${who}, after`, budget: AFTER_MS, measure: async () => (await measure()).later },
    ];
  });
}

/** Every budget, in the order of the page. */
export const BUDGETS: readonly Budget[] = [
  ...DRAWINGS.flatMap((one) => outPerIn(one.name, one.frames, one.bytes, () => drawn(one))),
  ...outPerIn('blind WRITE to a queue pair', 0.02, 0.02, blind),
  {
    ...{ group: 'out per in', name: 'READ that is right in everything', unit: 'bytes' },
    budget: Math.ceil((1.1 * READ_BUDGET) / READ_REQUEST_BYTES),
    measure: read,
  },
  ...held(
    'connection requests',
    512,
    1024,
    (from) => (s) => requests(s, PORT, from),
    ({ ours }) => ours.cm.size,
  ),
  ...held(
    'TCP handshakes',
    64,
    64,
    (from) => (s) => syns(s, PORT, from),
    ({ ours }) => ours.tcp?.size ?? 0,
  ),
  ...held('neighbours', 1, 1024, (from) => (s) => (i) => arpFrame(from(i), s.victim), neighboursOf),
  ...held(
    'neighbours asked for',
    1,
    64,
    (from) => (s) => requests(s, PORT + 1, from),
    ({ asked }) => asked.size,
  ),
  {
    ...{ group: 'held', name: 'events not taken, many addresses', unit: 'entries', budget: 64 },
    measure: () =>
      heldAfter(
        (s) => requests(s, PORT + 1, nobody),
        ({ ours }) => ours.events.length,
      ),
  },
  ...SERVICES.flatMap(service),
  { group: 'until served', name: 'WRITE of 1 MiB, blind WRITEs', unit: 'ms', budget: 1, measure: writing },
  {
    ...{ group: 'until served', name: 'WRITE of 4 MiB at 1 Gb/s, three forged CNPs a frame', unit: 'ms' },
    budget: 45,
    measure: notified,
  },
];
