/**
 * Goal: nothing that a frame contains brings out an error of ours. Method: 20,000 frames of fixed seeds into devices
 * with live connections: copies of its own traffic with some bytes changed, with a right ICRC but for a few, to the
 * known queue pair, to queue pair 1 and to others.
 */
import { describe, expect, it } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { computeIcrc } from '../../packets/icrc.ts';
import { Prng } from '../../src/ground/prng.ts';
import { WrOpcode } from '../../src/index.ts';
import { connect, makeSide, PORT } from '../device/support.ts';

const SEED = 15;
const FRAMES = 20_000;
const BATCH = 10;
const ROUNDS = 100;

describe('frames with changed bytes and a right ICRC', () => {
  it(`bring out no error of ours (seeds from ${SEED} on)`, async () => {
    let whole = 0;
    // A queue pair ends with the first frame that breaks a rule: many, each for a while.
    for (let round = 0; round < ROUNDS; round++) whole += await attack(SEED + round);
    expect(whole).toBeGreaterThan(FRAMES / 4);
  }, 120_000);
});

/** Attacks one connection; the frames that parsed. */
async function attack(seed: number): Promise<number> {
  const { world, a, b, left, right } = await connect({ seed });
  const random = new Prng(seed);
  const templates: Uint8Array[] = [];
  // Everything that comes to b while it works.
  const receive = b.receive.bind(b);
  Object.assign(b, {
    receive: (batch: FrameWriter): void => {
      for (let i = 0; i < batch.count; i++) {
        const start = batch.starts[i] ?? 0;
        templates.push(batch.bytes.slice(start, start + (batch.lengths[i] ?? 0)));
      }
      receive(batch);
    },
  });
  const local = { sges: [{ mr: left.mr, offset: 0, length: 3000 }] };
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  for (let i = 0; i < 4; i++) right.qp.postRecv({ wrId: i, sges: [{ mr: right.mr, offset: 0, length: 4096 }] });
  left.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, ...local });
  left.qp.postSend({ wrId: 2, opcode: WrOpcode.RdmaWrite, ...local, ...remote });
  left.qp.postSend({ wrId: 3, opcode: WrOpcode.RdmaRead, ...local, ...remote });
  left.qp.postSend({ wrId: 4, opcode: WrOpcode.SendWithImm, ...local, immData: 7 });
  right.qp.postSend({
    wrId: 5,
    opcode: WrOpcode.RdmaRead,
    ...{ sges: [{ mr: right.mr, offset: 0, length: 3000 }], remoteAddr: left.mr.iova, rkey: left.mr.rkey },
  });
  const listener = b.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: makeSide(b).qp }));
  await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }), accepting]));
  world.runFor(10e9, { maxSteps: 100_000 });
  Object.assign(b, { receive });
  expect(templates.length).toBeGreaterThan(5);
  let whole = 0;
  for (let sent = 0; sent < FRAMES / ROUNDS; sent += BATCH) {
    const writer = new FrameWriter(BATCH, 4300);
    for (let i = 0; i < BATCH; i++) {
      const frame = mutate(templates[random.u32() % templates.length] ?? new Uint8Array(), random);
      if (hasIcrc(frame)) whole += 1;
      writer.appendRaw(frame, 0, frame.length);
    }
    b.receive(writer);
    world.runFor(1e6, { maxSteps: 100_000 });
  }
  world.runFor(60e9, { maxSteps: 1_000_000 });
  expect([a.counters.internalErrors, b.counters.internalErrors]).toEqual([0, 0]);
  return whole;
}

/** A copy with up to eight bytes changed from the BTH on, or anywhere, and maybe cut. */
function mutate(template: Uint8Array, random: Prng): Uint8Array<ArrayBuffer> {
  const cut = random.u32() % 16 === 0 ? random.u32() % (template.length + 1) : template.length;
  const frame = template.slice(0, cut);
  if (frame.length === 0) return frame;
  const from = random.u32() % 8 === 0 ? 0 : Math.min(42, frame.length - 1);
  // Headers more often than payload.
  const span = random.u32() % 2 === 0 ? Math.min(40, frame.length - from) : frame.length - from;
  for (let count = random.u32() % 8; count > 0; count--) frame[from + (random.u32() % span)] = random.u32() & 0xff;
  return sealed(frame);
}

const view = (frame: Uint8Array): DataView => new DataView(frame.buffer, frame.byteOffset, frame.byteLength);

/** With the right ICRC, where the frame is long enough to have one. */
function sealed(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const frame = new Frame();
  const status = parseFrame(bytes, view(bytes), 0, bytes.length, Medium.Ethernet, frame);
  if (status !== FrameStatus.Ok) return bytes;
  const { ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
  view(bytes).setUint32(icrcOffset, computeIcrc(bytes, frame.view, ipOffset, ipVersion, bthOffset, icrcOffset), true);
  return bytes;
}

function hasIcrc(bytes: Uint8Array): boolean {
  return parseFrame(bytes, view(bytes), 0, bytes.length, Medium.Ethernet, new Frame()) === FrameStatus.Ok;
}
