/** Scenes of `ecn-misconfigured`: each part of DCQCN switched off, and DCQCN that works. */
import { type Frame, OpFlag, writeCnp } from 'rocev2/packets';
import { type CongestionOptions, WcStatus } from 'rocev2/transport';
import type { StageEnd } from './end.ts';
import { roceFrame, station } from './forge.ts';
import { play, type Scene, type Script } from './scene.ts';
import { demandStatus, type Stage, type StageOptions } from './stage.ts';

/** Slow enough that a few hundred packets take as long as a few dozen CNPs. */
const RATE_BPS = 2e9;

/** All of them. */
export const ECN_MISCONFIGURED_SCENES: readonly Scene[] = [
  scene(
    'ecn-no-cnp',
    true,
    'A switch marks a third of the packets to B, and B is not configured to send CNPs.',
    (stage) => marked(stage, { receiver: { notification: false }, share: 0.3 }),
  ),
  scene(
    'ecn-no-cnp-rxe',
    true,
    'A switch marks packets to a receiver with the habits of rdma_rxe, which has no congestion control.',
    (stage) => marked(stage, { receiver: { notification: false }, share: 0.3, peer: 'rxe-6.12' }),
  ),
  scene(
    'ecn-cnp-ignored',
    true,
    'B sends CNPs for marked packets, and A goes on at line rate: it has no reaction point.',
    (stage) => congested(stage, { reaction: { kind: 'none' } }),
  ),
  scene(
    'ecn-cnp-wrong-queue-pair',
    true,
    'B sends its CNPs to its own queue pair number instead of that of A.',
    wrongQueuePair,
  ),
  scene('ecn-cnp-unknown-queue-pair', true, 'B sends its CNPs to a queue pair that A does not have.', (stage) =>
    wrongQueuePair(stage, 0x4711),
  ),
  scene('ecn-cnp-in-data-class', true, 'B sends its CNPs with the DSCP of the data, behind which they wait.', (stage) =>
    marked(stage, { receiver: { notification: { cnpDscp: 26 } }, share: 0.3 }),
  ),
  scene(
    'ecn-not-ect',
    true,
    'A and C send to B through one queue; what A sends may be marked and is, what C sends may not.',
    notEct,
  ),
  scene('ecn-works', false, 'A third of the packets is marked, B notifies, and A slows down and recovers.', (stage) =>
    marked(stage, { receiver: {}, share: 0.3 }),
  ),
  scene(
    'ecn-works-hard',
    false,
    'Everything is marked for five milliseconds, and A becomes slower and slower.',
    (stage) => congested(stage, { reaction: { kind: 'dcqcn', profile: 'paper' } }),
  ),
  scene('ecn-works-hard-mlx', false, 'The same with the parameters of NVIDIA.', (stage) =>
    congested(stage, { reaction: { kind: 'dcqcn', profile: 'mlx' } }),
  ),
  scene('ecn-few-marks', false, 'Seven packets are marked in a long transfer, and no CNP is seen.', fewMarks),
  scene(
    'ecn-one-direction',
    false,
    'Marked packets in a capture that has nothing of what B sends: that no CNP is in it proves nothing.',
    (stage) => marked(stage, { receiver: {}, share: 0.3 }),
    { keep: ({ direction }) => direction === 'in' },
  ),
];

function scene(
  name: string,
  triggers: boolean,
  about: string,
  script: Script,
  more: Partial<StageOptions> = {},
): Scene {
  const options = { vantages: ['B'], rateBps: RATE_BPS, ...more };
  return { symptom: 'ecn-misconfigured', name, triggers, about, make: () => play(options, script) };
}

interface MarkedTraffic {
  readonly receiver: CongestionOptions;
  /** Of the packets to it. */
  readonly share: number;
  /** Habits of the receiver. */
  readonly peer?: string;
}

async function marked(stage: Stage, { receiver, share, peer = 'default' }: MarkedTraffic): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS, reaction: { kind: 'dcqcn', profile: 'paper' } } });
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS, ...receiver }, peer });
  const pair = await stage.connect(a, b, { timeout: 14 });
  stage.faults(b, { ceMark: share }, 'receive');
  for (let i = 0; i < 4; i++) demandStatus(await pair.a.write(pair.b, 40_000), WcStatus.Success);
}

/** A flow that goes at line rate for a while and is then marked throughout. */
async function congested(stage: Stage, sender: CongestionOptions): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS, ...sender } });
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS } });
  const pair = await stage.connect(a, b, { mtu: 4096, timeout: 14 });
  await writes(pair.a, pair.b, 5);
  stage.rule({ port: 'B', direction: 'receive', match: isData, action: 'mark' });
  await Promise.race([writes(pair.a, pair.b, 17), stage.sleep(6e6)]);
}

async function writes(a: StageEnd, b: StageEnd, count: number): Promise<void> {
  const statuses = Array.from({ length: count }, () => a.write(b, 80_000));
  for (const status of statuses) demandStatus(await status, WcStatus.Success);
}

async function wrongQueuePair(stage: Stage, qpn?: number): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS } });
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS, notification: false } });
  const pair = await stage.connect(a, b, { timeout: 14 });
  stage.faults(b, { ceMark: 0.3 }, 'receive');
  for (let i = 0; i < 4; i++) {
    demandStatus(await pair.a.write(pair.b, 40_000), WcStatus.Success);
    stage.forge(cnpFrame(qpn ?? pair.b.qpn));
  }
}

async function notEct(stage: Stage): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS, reaction: { kind: 'dcqcn', profile: 'paper' } } });
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS } });
  const c = stage.host('C', { path: { trafficClass: 104 } });
  const [first, second] = [await stage.connect(a, b, { timeout: 14 }), await stage.connect(c, b, { timeout: 14 })];
  stage.faults(b, { ceMark: 0.2 }, 'receive');
  for (let i = 0; i < 2; i++) {
    demandStatus(await first.a.write(first.b, 40_000), WcStatus.Success);
    demandStatus(await second.a.write(second.b, 40_000), WcStatus.Success);
  }
}

async function fewMarks(stage: Stage): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS } });
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS, notification: false } });
  const pair = await stage.connect(a, b, { timeout: 14 });
  for (let nth = 1; nth <= 7; nth++)
    stage.rule({ port: 'B', direction: 'receive', match: isData, nth: 9 * nth, action: 'mark' });
  for (let i = 0; i < 4; i++) demandStatus(await pair.a.write(pair.b, 40_000), WcStatus.Success);
}

function isData({ flags, payloadLength }: Frame): boolean {
  return (flags & OpFlag.Request) !== 0 && payloadLength > 0;
}

/** A CNP of host B to a queue pair of host A. */
export function cnpFrame(qpn: number): Uint8Array {
  const body = new Uint8Array(28);
  writeCnp(new DataView(body.buffer), 0, 0xffff, qpn, 1);
  return roceFrame({
    from: station(2),
    to: station(1),
    opcode: body[0] ?? 0,
    destQpn: qpn,
    psn: 0,
    migReq: 0,
    becn: 1,
    trafficClass: 48 << 2,
    headers: body.subarray(12),
  });
}
