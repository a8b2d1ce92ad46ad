/**
 * What an attacker does to one connection: forged requests with any PSN, and a READ that is right in everything. Owns
 * these measurements; what they may show is in budgets.ts.
 */
import { type MemoryRegion, QpState, WcStatus, WrOpcode } from 'rocev2';
import { Op } from 'rocev2/packets';
import { roceFrame } from './frames.ts';
import { FIRST_PSN, type MakeFrame, PEER, Scene, SECOND, type Side } from './scene.ts';

/** What left for each frame and each byte that came. */
export interface Drawn {
  readonly frames: number;
  readonly bytes: number;
}

const MIB = 2 ** 20;
/** The default of `Defences.maxReadResponseBytes`, and what a READ asks for here. */
export const READ_BUDGET = 64 * MIB;
const READ_BYTES = 80 * MIB;
export const READ_REQUEST_BYTES = 74;

/**
 * Forged WRITEs with any PSN, 10,000 in a second, in the name of a peer that writes once in 10 ms itself: what is sent
 * beside the answers to that peer.
 */
export async function blind(): Promise<Drawn> {
  const calm = await answered(0);
  const { attacker, sent } = await answered(10_000);
  return {
    frames: (sent.frames - calm.sent.frames) / attacker.frames,
    bytes: (sent.bytes - calm.sent.bytes) / attacker.bytes,
  };
}

async function answered(forged: number): Promise<Scene> {
  const scene = new Scene();
  const [us, them] = [scene.side(scene.ours), scene.side(scene.peer)];
  await scene.join(us.qp, them.qp);
  scene.count();
  scene.flood(forged, 10_000, blindWrites(scene, us.qp.qpn));
  for (let wrId = 0; wrId < 100; wrId++) {
    await write(scene, us.mr, them);
    await scene.run(SECOND / 100);
  }
  return scene;
}

/** A WRITE of 4 MiB of ours at 1 Gb/s, beside three CNPs for each of its frames, forged in the name of the peer. */
export async function notified(): Promise<number> {
  const scene = new Scene(1e9);
  const [us, them] = [scene.side(scene.ours, 4 * MIB), scene.side(scene.peer, 4 * MIB)];
  await scene.join(us.qp, them.qp);
  scene.flood(100_000, 100_000, () => roceFrame({ opcode: Op.Cnp, psn: 0, becn: 1 }, PEER, scene.victim, us.qp.qpn));
  return scene.msUntil(write(scene, them.mr, us));
}

/** One end writes its region to that of the other. Throws when that fails. */
async function write({ world }: Scene, to: MemoryRegion, { qp, cq, mr }: Side): Promise<void> {
  const remote = { remoteAddr: to.iova, rkey: to.rkey };
  qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], ...remote });
  const { value } = await world.run(cq.next());
  if (value?.status !== WcStatus.Success) throw new Error(`a WRITE ended with status ${value?.status}`);
}

function blindWrites({ victim }: Scene, qpn: number): MakeFrame {
  const reth = { va: 0n, rkey: 0, length: 0 };
  return (i) =>
    roceFrame({ opcode: Op.WriteOnly, ackReq: true, psn: Math.imul(i, 0x9e_37_79_b1) >>> 8, reth }, PEER, victim, qpn);
}

/** One forged READ that is right in everything, in the name of a peer that is silent. */
export async function read(): Promise<number> {
  const scene = new Scene();
  const [us, them] = [scene.side(scene.ours, READ_BYTES), scene.side(scene.peer)];
  await scene.join(us.qp, them.qp);
  await them.qp.modify({ state: QpState.Error });
  scene.count();
  const reth = { va: us.mr.iova, rkey: us.mr.rkey, length: READ_BYTES };
  scene.flood(1, 1, () => roceFrame({ opcode: Op.ReadRequest, psn: FIRST_PSN, reth }, PEER, scene.victim, us.qp.qpn));
  await scene.run(SECOND);
  return scene.sent.bytes / scene.attacker.bytes;
}

/** A WRITE of 1 MiB by the peer, beside 100,000 blind packets in a second. */
export async function writing(): Promise<number> {
  const scene = new Scene();
  const [us, them] = [scene.side(scene.ours, MIB), scene.side(scene.peer, MIB)];
  await scene.join(us.qp, them.qp);
  scene.flood(10_000, 100_000, blindWrites(scene, us.qp.qpn));
  await scene.run(SECOND / 100);
  return scene.msUntil(write(scene, us.mr, them));
}
