/**
 * `npm run soak -- queue-pairs`: thousands of queue pairs alive at the same time between two devices in this process,
 * all of them with traffic in both directions: WRITEs of one side and READs of the other, data compared, each
 * completion counted for its own queue pair. Then all are destroyed, and nothing may be left. Owns the rounds and the
 * figures.
 */
import { attachDevice, type Cq, type Device, type Pd, type Qp, QpState, World, WrOpcode } from 'rocev2';
import { IpAddress } from 'rocev2/packets';
import { Access, type MemoryRegion, WorkCompletion } from 'rocev2/transport';
import { leftOver } from './left-over.ts';
import { bytesInUse, memoryPoint, openDescriptors } from './memory.ts';

export interface QueuePairsOptions {
  /** Connections, 1 or more: each is a queue pair on either side. */
  readonly count: number;
  /** Times that every queue pair gets a message. */
  readonly rounds: number;
  /** Messages under way at the same time, at most; default one on every queue pair. */
  readonly atOnce?: number;
  readonly seed: number;
  readonly say?: (line: string) => void;
}

export interface QueuePairsFigures {
  /** Alive at the same time, both sides together. */
  readonly queuePairs: number;
  readonly messages: number;
  readonly packets: number;
  readonly seconds: number;
  /** Of a connected queue pair before its first message, and after the last one: bytes, pools included. */
  readonly bytesIdle: number;
  readonly bytesUsed: number;
  /** What a second generation of queue pairs left behind, after the first one had filled the pools. */
  readonly bytesLeft: number;
  readonly objectsLeft: number;
  readonly descriptorsLeft: number;
  /** What does not hold; none in a good run. */
  readonly faults: readonly string[];
}

/** Everything of one side. */
interface End {
  readonly device: Device;
  readonly address: IpAddress;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly region: MemoryRegion;
  readonly qps: Qp[];
}

/** One generation of them, with all that it takes: pools included, which a second one would find filled. */
export async function queuePairsAlive(
  options: QueuePairsOptions,
): Promise<GenerationFigures & Pick<QueuePairsFigures, 'faults'>> {
  const { world, devices } = twoDevices(options.seed);
  const faults: string[] = [];
  return { ...(await generation(world, devices, options, faults)), faults };
}

export async function soakQueuePairs(options: QueuePairsOptions): Promise<QueuePairsFigures> {
  const { count, rounds, seed } = options;
  const { world, devices } = twoDevices(seed);
  const [a, b] = devices;
  const faults: string[] = [];
  const descriptors = openDescriptors();
  // The first generation fills pools, and what it leaves is not the cost of each. What the second one adds is a leak.
  await generation(world, [a, b], { ...options, rounds: 1 }, faults);
  const before = memoryPoint(0);
  const figures = await generation(world, [a, b], options, faults);
  const after = memoryPoint(1);
  return {
    queuePairs: 2 * count,
    messages: 2 * count * rounds,
    ...figures,
    bytesLeft: after.bytes - before.bytes,
    objectsLeft: after.objects - before.objects,
    descriptorsLeft: after.descriptors - descriptors,
    faults,
  };
}

function twoDevices(seed: number): { readonly world: World; readonly devices: readonly [Device, Device] } {
  const world = new World({ seed });
  const device = (id: number): Device => attachDevice(world, `host${id}`, { addresses: [`10.0.0.${id}/24`] });
  return { world, devices: [device(1), device(2)] };
}

type GenerationFigures = Pick<QueuePairsFigures, 'packets' | 'seconds' | 'bytesIdle' | 'bytesUsed'>;

/** Makes all queue pairs, uses them, destroys them. */
async function generation(
  world: World,
  [a, b]: readonly [Device, Device],
  { count, rounds, say, atOnce = 2 * count }: QueuePairsOptions,
  faults: string[],
): Promise<GenerationFigures> {
  const ends: readonly [End, End] = [makeEnd(a, 1, count), makeEnd(b, 2, count)];
  const before = bytesInUse();
  const perQueuePair = (): number => Math.round((bytesInUse() - before) / (2 * count));
  await connect(world, ends, count);
  const alive = a.qpCount + b.qpCount;
  if (alive !== 2 * count) faults.push(`${alive} queue pairs are alive, not ${2 * count}`);
  const bytesIdle = perQueuePair();
  say?.(`${alive} queue pairs are connected, ${bytesIdle} bytes each`);
  const began = performance.now();
  const packetsBefore = packetsOf([a, b]);
  for (let round = 0; round < rounds; round++) exchange(world, ends, { round, atOnce }, faults);
  const seconds = (performance.now() - began) / 1000;
  const packets = packetsOf([a, b]) - packetsBefore;
  const bytesUsed = perQueuePair();
  for (const end of ends) free(end);
  world.runFor(60e9);
  for (const device of [a, b]) faults.push(...leftOver(device));
  return { packets, seconds, bytesIdle, bytesUsed };
}

function makeEnd(device: Device, id: number, count: number): End {
  const pd = device.allocPd();
  const region = pd.regMr(SLOT_BYTES * count * 2, { access: ACCESS });
  const address = IpAddress.parse(`10.0.0.${id}`);
  return { device, address, pd, cq: device.createCq(2 * count), region, qps: [] };
}

async function connect(world: World, [a, b]: readonly [End, End], count: number): Promise<void> {
  // The next hops, once.
  await world.run(Promise.all([a.device.resolve(b.address), b.device.resolve(a.address)]));
  for (let i = 0; i < count; i++) {
    const capabilities = { maxSendWr: 4, maxRecvWr: 1, maxSge: 1, maxInlineData: 0 };
    const [left, right] = [a, b].map(({ pd, cq }) => pd.createQp({ sendCq: cq, recvCq: cq, ...capabilities }));
    if (left === undefined || right === undefined) throw new RangeError('a connection has two ends');
    a.qps.push(left);
    b.qps.push(right);
    toReadyToSend(left, right.qpn, b.address, i);
    toReadyToSend(right, left.qpn, a.address, i);
  }
}

/** PSNs of each second queue pair wrap within 8 messages: they begin at 2^24 - 8 to 2^24 + 7. */
function toReadyToSend(qp: Qp, destQpn: number, destination: IpAddress, index: number): void {
  const psn = (0x100_0000 - 8 + (index % 16)) & 0xff_ff_ff;
  qp.modifyNow({ state: QpState.Init, access: ACCESS });
  const limits = { mtu: 1024, maxDestRdAtomic: 4, minRnrTimer: 12 };
  qp.modifyNow({ state: QpState.Rtr, av: { destination }, destQpn, rqPsn: psn, ...limits });
  qp.modifyNow({ state: QpState.Rts, sqPsn: psn, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 });
}

/** A WRITE on every queue pair of one side and a READ on every one of the other. */
function exchange(
  world: World,
  [a, b]: readonly [End, End],
  { round, atOnce }: { readonly round: number; readonly atOnce: number },
  faults: string[],
): void {
  const half = a.region.bytes.length / 2;
  fill(a.region.bytes.subarray(0, half), round);
  const wanted = a.qps.length + b.qps.length;
  const wc = new WorkCompletion();
  let [posted, got] = [0, 0];
  while (got < wanted) {
    for (; posted < wanted && posted - got < atOnce; posted++) {
      const i = posted >> 1;
      if (posted % 2 === 0) a.qps[i]?.postSend(request(WrOpcode.RdmaWrite, i, i * SLOT_BYTES, a, b));
      else b.qps[i]?.postSend(request(WrOpcode.RdmaRead, i, half + i * SLOT_BYTES, b, a));
    }
    for (const end of [a, b]) {
      while (end.cq.poll(wc)) {
        got += 1;
        if (wc.status !== 0 || end.qps[wc.wrId]?.qpn !== wc.qpn)
          faults.push(`round ${round}: work request ${wc.wrId} ended with ${wc.status} on queue pair ${wc.qpn}`);
      }
    }
    if (got < posted && !world.step()) {
      faults.push(`round ${round}: ${wanted - got} work requests never completed`);
      return;
    }
  }
  if (Buffer.compare(a.region.bytes.subarray(0, half), b.region.bytes.subarray(0, half)) !== 0)
    faults.push(`round ${round}: WRITEs arrived with other bytes`);
  if (Buffer.compare(a.region.bytes.subarray(half), b.region.bytes.subarray(half)) !== 0)
    faults.push(`round ${round}: READs returned other bytes`);
  // The next round's READs return something else.
  fill(a.region.bytes.subarray(half), round + 1);
}

function request(
  opcode: typeof WrOpcode.RdmaWrite | typeof WrOpcode.RdmaRead,
  wrId: number,
  at: number,
  own: End,
  peer: End,
) {
  const sges = [{ mr: own.region, offset: at, length: SLOT_BYTES }];
  return { wrId, opcode, sges, remoteAddr: peer.region.iova + BigInt(at), rkey: peer.region.rkey };
}

/** Each queue pair's bytes differ from those of its neighbours and of the round before. */
function fill(bytes: Uint8Array, round: number): void {
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.imul((at >>> 5) + round, 0x9e37_79b1) >>> 13;
}

function free({ device, pd, cq, region, qps }: End): void {
  for (const qp of qps) qp.destroy();
  pd.deregMr(region);
  device.destroyCq(cq);
  pd.dealloc();
}

function packetsOf(devices: readonly Device[]): number {
  return devices.reduce((sum, { portCounters }) => sum + portCounters.sentPkts, 0);
}

const ACCESS = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead;
const SLOT_BYTES = 32;
