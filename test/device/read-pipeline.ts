/**
 * READs in a pipeline between two simulated devices, over a wire that loses and delays frames: what came of them, and
 * what they cost on the wire.
 */
import { expect } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import type { FaultSpec } from '../../src/faults/fault-spec.ts';
import { attachDevice, type Device, QpState, WcStatus, WorkCompletion, World, WrOpcode } from '../../src/index.ts';
import type { PortCounters } from '../../transport/counters.ts';
import { ALL, makeSide, type Side } from './support.ts';

export interface PipelineOptions {
  readonly seed?: number;
  /** Of both directions. */
  readonly faults: FaultSpec;
  readonly latencyNs?: number;
  /** READs that are outstanding at a time. */
  readonly depth: number;
  /** Bytes of one READ. */
  readonly size: number;
  /** Bytes in all. */
  readonly wanted: number;
  readonly peer?: string;
  /** First PSN of the requests; default 24 PSNs before they wrap. */
  readonly firstPsn?: number;
}

export interface PipelineResult {
  /** Payload of READ responses that the responder sent, over bytes wanted. */
  readonly ratio: number;
  /** READ REQUESTs sent, over READs posted. */
  readonly requests: number;
  /** Virtual time from the first request to the last completion. */
  readonly ns: number;
  readonly requester: PortCounters;
}

const DEFAULT_FIRST_PSN = 0xff_ff_e8;

/** Posts READs of parts of a region, `depth` at a time, until all that is wanted has come; checks the data. */
export async function runPipeline(options: PipelineOptions): Promise<PipelineResult> {
  const { depth, size, wanted } = options;
  const { world, left, right, requester, payload } = await connectedPair(options);
  right.mr.bytes.set(Uint8Array.from({ length: right.mr.bytes.length }, (_, i) => i * 7 + (i >> 12)));
  const posts = Math.ceil(wanted / size);
  const wc = new WorkCompletion();
  const start = world.now;
  let posted = 0;
  let completed = 0;
  const post = (): void => {
    const offset = (posted % depth) * size;
    const remote = { remoteAddr: right.mr.iova + BigInt(offset), rkey: right.mr.rkey };
    left.mr.bytes.fill(0, offset, offset + size);
    const sges = [{ mr: left.mr, offset, length: size }];
    left.qp.postSend({ wrId: posted++, opcode: WrOpcode.RdmaRead, sges, ...remote });
  };
  while (posted < Math.min(depth, posts)) post();
  const done = (): boolean => {
    while (left.cq.poll(wc)) {
      expect(wc.status, `READ ${wc.wrId}`).toBe(WcStatus.Success);
      expect(wc.wrId).toBe(completed);
      const offset = (completed++ % depth) * size;
      const [got, sent] = [left, right].map(({ mr }) => mr.bytes.subarray(offset, offset + size));
      expect(Buffer.compare(got as Uint8Array, sent as Uint8Array)).toBe(0);
      if (posted < posts) post();
    }
    return completed === posts;
  };
  world.runFor(60e9, { done });
  expect(completed).toBe(posts);
  return {
    ratio: payload.bytes / (posts * size),
    requests: payload.requests / posts,
    ns: world.now - start,
    requester: requester.portCounters,
  };
}

async function connectedPair({ seed = 1, faults, depth, size, peer = 'default', ...options }: PipelineOptions) {
  const { firstPsn = DEFAULT_FIRST_PSN, latencyNs = 2000 } = options;
  const world = new World({ seed, latencyNs, batchFrames: 16 });
  const device = (id: number) =>
    attachDevice(world, `device ${id}`, { addresses: [`10.0.0.${id}/24`], mtu: 4200, faults, peer });
  const [requester, responder] = [device(1), device(2)];
  const [left, right] = [makeSide(requester, depth * size), makeSide(responder, depth * size)];
  const up = async (side: Side, other: Side, to: Device): Promise<void> => {
    const destination = to.addresses[0]?.address ?? expect.fail('a device has an address');
    await side.qp.modify({ state: QpState.Init, access: ALL });
    const rtr = { destQpn: other.qp.qpn, rqPsn: firstPsn, mtu: 4096, maxDestRdAtomic: depth, minRnrTimer: 1 } as const;
    await side.qp.modify({ state: QpState.Rtr, av: { destination }, ...rtr });
    const rts = { sqPsn: firstPsn, timeout: 10, retryCnt: 7, rnrRetry: 7, maxRdAtomic: depth };
    await side.qp.modify({ state: QpState.Rts, ...rts });
  };
  await world.run(Promise.all([up(left, right, responder), up(right, left, requester)]));
  return { world, left, right, requester, payload: watch(world) };
}

/** Counts as packets are sent. */
function watch(world: World): { bytes: number; requests: number } {
  const counts = { bytes: 0, requests: 0 };
  const frame = new Frame();
  world.network.tap = {
    frame: (_now, _port, direction, bytes, start, end) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (direction !== 'out' || parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return;
      if (frame.opcode === Op.ReadRequest) counts.requests += 1;
      else counts.bytes += frame.payloadLength;
    },
  };
  return counts;
}
