/**
 * Goal: a device says what looks like an attack: every cause, with its peer, not for what honest peers do now and then,
 * and at most once a second (ref:hostile#3). Method: the table of causes by itself; then each attack, as frames given to
 * a device by hand or forged in the simulated world.
 */
import { describe, expect, it } from 'vitest';
import { Frame, FrameWriter, Medium, Op, parseFrame } from '../../packets/index.ts';
import { buildFrame } from '../../packets/kit/index.ts';
import { DeviceCounters } from '../../src/device/counters.ts';
import { arpReplyFrame } from '../../src/device/host/neighbour-frames.ts';
import { TcpFlag } from '../../src/device/host/tcp/segment.ts';
import { SUSPICION_THRESHOLDS, Suspicions } from '../../src/device/suspicions.ts';
import {
  SUSPICIOUS_DEVICE_COUNTERS,
  SUSPICIOUS_PORT_COUNTERS,
  SuspiciousCounters,
} from '../../src/device/suspicious-counters.ts';
import {
  attachDevice,
  type Device,
  IpAddress,
  type SimulatedDeviceOptions,
  type SuspicionCause,
  type SuspiciousEvent,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { PortCounters } from '../../transport/counters.ts';
import { FIRST_PSN, Triangle } from './attacker.ts';
import { attach, EVIL_MAC, nobody, SpoofedRequests, segmentOf } from './flooder.ts';
import { PORT } from './support.ts';

const SECOND = 1e9;
const EVIL = IpAddress.parse('10.0.0.66');
const OTHER = IpAddress.parse('10.0.0.67');
const CAUSES = Object.keys(SUSPICION_THRESHOLDS) as SuspicionCause[];

function make(): { events: SuspiciousEvent[]; suspicions: Suspicions } {
  const events: SuspiciousEvent[] = [];
  return { events, suspicions: new Suspicions(events) };
}

/** Events as "cause address :port qp number xtimes". */
const said = (events: readonly SuspiciousEvent[]): string[] =>
  events.map(({ cause, address, port, qpn, count }) =>
    [cause, address ?? '*', port && `:${port}`, qpn && `qp ${qpn}`, `x${count}`].filter(Boolean).join(' '),
  );

describe('suspicion', () => {
  it.each(CAUSES)('%s is an event with the threshold, and with nothing less', (cause) => {
    const { events, suspicions } = make();
    const threshold = SUSPICION_THRESHOLDS[cause];
    for (let i = 1; i < threshold; i++) suspicions.byAddress(i, cause, 1, EVIL);
    expect(events).toEqual([]);
    suspicions.byAddress(threshold, cause, 1, EVIL);
    expect(events).toEqual([{ kind: 'suspicious', cause, address: EVIL, count: threshold, at: threshold }]);
  });

  it('is no event when the threshold is reached in more than a second', () => {
    const { events, suspicions } = make();
    for (let i = 0; i < 100; i++) suspicions.byAddress(i * (SECOND / 10), 'bad-address', 1, EVIL);
    expect(events).toEqual([]);
  });

  it('is one event a second, with the count since the last', () => {
    const { events, suspicions } = make();
    for (let ms = 0; ms < 3500; ms++) suspicions.byAddress(ms * 1e6, 'neighbour-claim-refuted', 2, EVIL);
    expect(events.map(({ at, count }) => [at, count])).toEqual([
      [0, 2],
      [1 * SECOND, 2000],
      [2 * SECOND, 2000],
      [3 * SECOND, 2000],
    ]);
  });

  it('leaves out of the count what stayed below the threshold', () => {
    const { events, suspicions } = make();
    for (let i = 0; i < 10; i++) suspicions.byAddress(i * SECOND, 'bad-address', 15, EVIL);
    suspicions.byAddress(10 * SECOND, 'bad-address', 16, EVIL);
    expect(said(events)).toEqual(['bad-address 10.0.0.66 x16']);
  });

  it('counts causes and addresses each on their own', () => {
    const { events, suspicions } = make();
    suspicions.byAddress(1, 'psn-alarm', 1, EVIL, 49_153, 18);
    suspicions.byAddress(1, 'psn-alarm', 1, OTHER);
    suspicions.byAddress(1, 'access-refused', 1, EVIL, 0, 19);
    suspicions.byAddress(1, 'psn-alarm', 1, IpAddress.parse('fd00::66'));
    suspicions.byAddress(1, 'psn-alarm', 1, undefined, 0, 20);
    expect(said(events)).toEqual([
      'psn-alarm 10.0.0.66 :49153 qp 18 x1',
      'psn-alarm 10.0.0.67 x1',
      'access-refused 10.0.0.66 qp 19 x1',
      'psn-alarm fd00::66 x1',
      'psn-alarm * qp 20 x1',
    ]);
  });

  it('by more addresses than it has records is one event more for each cause, and records are free after a second', () => {
    const { events, suspicions } = make();
    for (let i = 0; i < 1000; i++) suspicions.byAddress(i, 'tcp-resets-dropped', 1, nobody(i));
    // Nobody takes them: 64 wait, and no more are added.
    expect(events).toHaveLength(64);
    events.length = 0;
    for (let i = 0; i < 1000; i++) suspicions.byAddress(500 + i, 'tcp-resets-dropped', 1, nobody(i + 64));
    expect(said(events)).toEqual(['tcp-resets-dropped * x937']);
    events.length = 0;
    suspicions.byAddress(3 * SECOND, 'tcp-resets-dropped', 1, EVIL);
    expect(said(events)).toEqual(['tcp-resets-dropped 10.0.0.66 x1']);
  });

  it('waits in the count while 64 events are not taken', () => {
    const { events, suspicions } = make();
    for (let i = 0; i < 200; i++) suspicions.byAddress(i * SECOND, 'psn-alarm', 1, EVIL);
    expect(events).toHaveLength(64);
    events.length = 0;
    suspicions.byAddress(200 * SECOND, 'psn-alarm', 1, EVIL);
    expect(said(events)).toEqual(['psn-alarm 10.0.0.66 x137']);
  });
});

const DEVICES = SUSPICIOUS_DEVICE_COUNTERS.map(([name, cause]) => ['device', name, cause] as const);
const PORTS = SUSPICIOUS_PORT_COUNTERS.map(([name, cause]) => ['port', name, cause] as const);

it.each([...DEVICES, ...PORTS])('the %s counter %s is seen: %s', (of, name, cause) => {
  const { events, suspicions } = make();
  const counters = { device: new DeviceCounters(), port: new PortCounters() };
  const watch = new SuspiciousCounters(counters.device, counters.port, suspicions);
  const frame = new Frame();
  const route = { sourceMac: EVIL_MAC, destMac: EVIL_MAC, trafficClass: 0, hopLimit: 64, flowLabel: 0 };
  for (const source of [EVIL, IpAddress.parse('fd00::66')]) {
    const ends = { medium: Medium.Ethernet, source, destination: source, sourcePort: 49_152 };
    const bytes = buildFrame({ opcode: Op.SendOnly, psn: 0 }, { ...route, ...ends }, 0x12, 0);
    parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
    watch.afterFrame(1, frame);
    expect(events).toEqual([]);
    const values: Record<string, number> = { ...counters[of] };
    Object.assign(counters[of], { [name]: (values[name] ?? 0) + SUSPICION_THRESHOLDS[cause] });
    watch.afterFrame(2, frame);
    watch.afterFrame(3, frame);
    const count = SUSPICION_THRESHOLDS[cause];
    expect(events.splice(0)).toEqual([
      { kind: 'suspicious', cause, address: source, port: 49_152, qpn: 0x12, count, at: 2 },
    ]);
  }
});

/** Everything that `device` has said so far. */
async function taken(device: Device): Promise<string[]> {
  const events: SuspiciousEvent[] = [];
  while (device.events.length > 0) {
    const { value } = await device.events.next();
    if (typeof value === 'object') events.push(value);
  }
  return said(events);
}

const OURS = IpAddress.parse('10.0.0.1');

type Frames = (ours: Device) => readonly Uint8Array[];

/** What `ours` says while it takes these frames, a thousand in a second, or all in one batch. */
async function underFire(
  options: Partial<SimulatedDeviceOptions>,
  prepare: (ours: Device) => void,
  frames: Frames,
  atOnce = false,
): Promise<string[]> {
  const world = new World({ seed: 1 });
  const ours = attachDevice(world, 'ours', { addresses: ['10.0.0.1/16'], ...options });
  attachDevice(world, 'known', { addresses: ['10.0.0.2/16'] });
  prepare(ours);
  const attacker = attach(world);
  await world.run(ours.resolve(IpAddress.parse('10.0.0.2')));
  const made = frames(ours);
  if (atOnce) {
    const batch = new FrameWriter(made.length, 200);
    for (const frame of made) batch.appendRaw(frame, 0, frame.length);
    ours.receive(batch);
  } else attacker.flood(made.length, 1000, (i) => made[i] as Uint8Array);
  world.runFor(0.9 * SECOND);
  return taken(ours);
}

const times = <T>(count: number, item: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const victim = (ours: Device) => ({ address: OURS, mac: ours.mac });
const requests =
  (...sources: IpAddress[]) =>
  (ours: Device): Uint8Array[] => {
    const spoofed = new SpoofedRequests(victim(ours), PORT);
    return sources.map((source) => spoofed.from(source));
  };
const segments = (count: number, to: number, flags: number) => (ours: Device) =>
  times(count, (i) => segmentOf(victim(ours), EVIL, { from: 1024 + i, to }, { flags }));
const listens = (ours: Device): void => {
  ours.tcp?.listen(PORT);
};
const KNOWN = IpAddress.parse('10.0.0.2');
const claims = (count: number) => (ours: Device) =>
  times(count, () => arpReplyFrame({ mac: EVIL_MAC, address: KNOWN }, { mac: ours.mac, address: OURS }));
const nothing = (): void => {};
const A = nobody(1);
const B = nobody(2);

describe('a host says so when', () => {
  it.each([
    [
      'a known neighbour is claimed, and answers',
      {},
      nothing,
      claims(4),
      ['neighbour-claim-refuted 10.0.0.2 x1', 'neighbour-claim 10.0.0.2 x4'],
    ],
    ['one announces a move once', { strangers: { confirmMoves: false } }, nothing, claims(1), []],
    [
      'strangers use up their neighbours',
      { strangers: { maxUnresolved: 4 } },
      nothing,
      requests(...times(5, nobody)),
      [`neighbour-flood ${nobody(4)} x1`],
    ],
    [
      'SYNs are answered with cookies',
      {},
      listens,
      segments(80, PORT, TcpFlag.Syn),
      ['tcp-syn-flood 10.0.0.66 :1103 x16'],
    ],
    ['few SYNs are', {}, listens, segments(79, PORT, TcpFlag.Syn), []],
    [
      'ACKs are of no cookie',
      { strangers: { maxHalfOpen: 0 } },
      listens,
      (ours: Device) => [...segments(1, PORT, TcpFlag.Syn)(ours), ...segments(16, PORT, TcpFlag.Ack)(ours)],
      ['tcp-bad-cookie 10.0.0.66 :1039 x16'],
    ],
    [
      'a listener is full',
      { strangers: { maxHalfOpen: 0, synCookies: false } },
      listens,
      segments(64, PORT, TcpFlag.Syn),
      ['tcp-backlog-full 10.0.0.66 :1087 x64'],
    ],
    [
      'a source has more requests than its share',
      { strangers: { maxRequestsPerSource: 2 } },
      (ours: Device): void => void ours.cm.listen(PORT),
      requests(A, A, A),
      [`cm-source-full ${A} :4791 qp 1 x1`],
    ],
    [
      'requests give way: the source that has most of them',
      {},
      (ours: Device): void => void ours.cm.listen(PORT, { backlog: 2 }),
      requests(A, A, B),
      [`cm-displaced ${A} qp 1 x1`],
    ],
    [
      'a listener of the connection manager is full',
      {},
      (ours: Device): void => void ours.cm.listen(PORT, { backlog: 1 }),
      requests(...times(65, () => A)),
      [`cm-backlog-full ${A} :4791 qp 1 x64`],
    ],
    [
      'there is no place for a request',
      { strangers: { maxRequests: 1 } },
      (ours: Device): void => void ours.cm.listen(PORT),
      requests(A, A),
      [`cm-table-full ${A} :4791 qp 1 x1`],
    ],
    [
      'the source of a datagram cannot be a host',
      {},
      nothing,
      requests(...times(4, () => IpAddress.parse('255.255.255.255'))),
      ['bad-source 255.255.255.255 :4791 qp 1 x4'],
    ],
  ] satisfies [string, Partial<SimulatedDeviceOptions>, (ours: Device) => void, Frames, string[]][])(
    '%s',
    async (_, options, prepare, frames, events) => {
      expect(await underFire(options, prepare, frames)).toEqual(events);
    },
  );

  it('more segments come at once than are answered', async () => {
    expect(await underFire({}, listens, segments(257, PORT + 1, TcpFlag.Ack), true)).toEqual([
      'tcp-resets-dropped 10.0.0.66 :1280 x1',
    ]);
  });
});

describe('a connection says so when', () => {
  const NOTHING = { va: 0n, rkey: 0, length: 0 };
  const write = (psn: number, rkey = 0) => ({
    opcode: Op.WriteOnly,
    psn,
    reth: { ...NOTHING, rkey, length: 4 },
    payload: new Uint8Array(4),
  });

  it('PSNs are guessed, in the name of the peer: an event, and the alarm', async () => {
    const { attacker, requester, responder, right, world } = await new Triangle().connect();
    for (let i = 0; i < 4096; i++)
      attacker.forge(write((FIRST_PSN + 100_000 + i) & 0xff_ff_ff), requester, responder, right.qp);
    world.runFor(0.9 * SECOND);
    const at = `10.0.0.1 :49153 qp ${right.qp.qpn}`;
    expect(await taken(responder)).toEqual([`psn-outside-window ${at} x16`, `psn-alarm ${at} x1`]);
    expect(await taken(requester)).toEqual([]);
  });

  it('a key is guessed', async () => {
    const { attacker, requester, responder, right, world } = await new Triangle().connect();
    attacker.forge(write(FIRST_PSN, 0x12_34_56_78), requester, responder, right.qp);
    world.runFor(0.1 * SECOND);
    expect(await taken(responder)).toEqual([`access-refused 10.0.0.1 :49153 qp ${right.qp.qpn} x1`]);
  });

  it('queue pair numbers are guessed', async () => {
    const triangle = await new Triangle().connect();
    const { attacker, requester, responder, right, world } = triangle;
    const wrong = Object.create(right.qp, { qpn: { value: right.qp.qpn ^ 1 } });
    for (let i = 0; i < 256; i++) attacker.forge(write(0), requester, responder, wrong);
    world.runFor(0.1 * SECOND);
    expect(await taken(responder)).toEqual([`bad-qpn 10.0.0.1 :49153 qp ${right.qp.qpn ^ 1} x256`]);
  });

  it('a READ is answered to somebody who is not there: the peer is that of the queue pair', async () => {
    const defences = { maxReadResponseBytes: 4096 };
    const { attacker, requester, responder, right, world } = await new Triangle({ responder: { defences } }).connect();
    for (let i = 0; i < 4; i++) {
      const reth = { va: right.mr.iova, rkey: right.mr.rkey, length: 1 << 16 };
      attacker.forge(
        { opcode: Op.ReadRequest, psn: (FIRST_PSN + 64 * i) & 0xff_ff_ff, reth },
        requester,
        responder,
        right.qp,
      );
    }
    world.runFor(0.1 * SECOND);
    expect(responder.portCounters.readResponseCut).toBeGreaterThanOrEqual(4);
    expect(await taken(responder)).toEqual([expect.stringMatching(/^read-response-cut 10\.0\.0\.1 /)]);
  });

  it('nothing at all happens over a wire that loses, doubles, reorders and damages a little', async () => {
    const faults = { rateBps: 10e9, loss: 0.01, duplicate: 0.01, reorder: 0.01, corrupt: 0.002 };
    const { requester, responder, left, right, world } = await new Triangle({ faults }).connect();
    const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
    for (let wrId = 0; wrId < 64; wrId++)
      left.qp.postSend({ wrId, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr }], ...remote });
    world.runFor(5 * SECOND, { done: () => left.cq.length === 64 });
    expect([left.cq.length, await taken(requester), await taken(responder)]).toEqual([64, [], []]);
  });
});
