/**
 * A lock made of atomics: several hosts share a counter in the memory of another, which runs no code for them.
 *
 *   npx tsx examples/lock.ts
 *
 * COMPARE SWAP writes a 64-bit word if, and only if, it still has the value one expects, and returns what it was. So
 * whoever turns 0 into its own number holds the lock. FETCH ADD would make the counter safe by itself; here the counter
 * is changed by READ and WRITE, which is safe only because of the lock. Take the lock away (`--unsafe`) and see the
 * total go wrong.
 */
import { Access, attachDevice, type Device, type MemoryRegion, World, WrOpcode } from 'rocev2';
import { completed } from './support.ts';

const PORT = 7471;
const HOSTS = 4;
const ROUNDS = 10;
const LOCK_AT = 0n;
const COUNTER_AT = 8n;
const BACKOFF_NS = 2_000;
const safe = !process.argv.includes('--unsafe');

const world = new World({ seed: 7 });
const owner = attachDevice(world, 'owner', { addresses: ['10.0.0.100/24'] });
const pd = owner.allocPd();
/** The lock and the counter; atomics want their word aligned to 8 bytes. */
const shared = pd.regMr(16, {
  access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite | Access.RemoteAtomic,
});

/** Accepts everybody, then does nothing more: the rest is between the hosts and the owner's device. */
async function accept(): Promise<void> {
  const cq = owner.createCq(16);
  const listener = owner.cm.listen(PORT);
  let accepted = 0;
  for await (const request of listener) {
    await request.accept({ qp: pd.createQp({ sendCq: cq, recvCq: cq }) });
    if (++accepted === HOSTS) listener.close();
  }
}

async function count(device: Device, number: bigint): Promise<void> {
  const memory = new RemoteMemory(device);
  await memory.connect();
  let waited = 0;
  for (let round = 0; round < ROUNDS; round++) {
    while (safe && (await memory.compareSwap(LOCK_AT, 0n, number)) !== 0n) {
      waited++;
      await world.sleep(BACKOFF_NS * Number(number)); // not all at once again
    }
    const value = await memory.read(COUNTER_AT);
    await memory.write(COUNTER_AT, value + 1n);
    // One queue pair executes in order: the counter is written before the lock is free.
    if (safe) await memory.write(LOCK_AT, 0n);
  }
  console.log(`host ${number}: ${ROUNDS} rounds, found the lock taken ${waited} times`);
}

/** 64-bit words of a peer, one operation at a time. Memory of a region is little-endian where atomics see it. */
class RemoteMemory {
  readonly #device: Device;
  readonly #cq;
  readonly #qp;
  /** Where READs and the results of atomics arrive, and WRITEs leave from. */
  readonly #local: MemoryRegion;

  constructor(device: Device) {
    this.#device = device;
    const ownPd = device.allocPd();
    this.#cq = device.createCq(16);
    this.#qp = ownPd.createQp({ sendCq: this.#cq, recvCq: this.#cq });
    this.#local = ownPd.regMr(8);
  }

  async connect(): Promise<void> {
    await this.#device.cm.connect({ address: '10.0.0.100', port: PORT, qp: this.#qp });
  }

  /** Returns what the word was: the swap has happened if that is `expected`. */
  compareSwap(at: bigint, expected: bigint, swap: bigint): Promise<bigint> {
    return this.#execute(WrOpcode.AtomicCmpAndSwp, at, { compareAdd: expected, swap });
  }

  read(at: bigint): Promise<bigint> {
    return this.#execute(WrOpcode.RdmaRead, at);
  }

  async write(at: bigint, value: bigint): Promise<void> {
    this.#local.view.setBigUint64(0, value, true);
    await this.#execute(WrOpcode.RdmaWrite, at);
  }

  async #execute(opcode: WrOpcode, at: bigint, operands: { compareAdd?: bigint; swap?: bigint } = {}): Promise<bigint> {
    const { iova, rkey } = shared; // a peer elsewhere would be told: see write-with-immediate.ts
    this.#qp.postSend({ wrId: 0, opcode, sges: [{ mr: this.#local }], remoteAddr: iova + at, rkey, ...operands });
    await completed(this.#cq);
    return this.#local.view.getBigUint64(0, true);
  }
}

const hosts = Array.from({ length: HOSTS }, (_, i) => {
  const device = attachDevice(world, `host ${i + 1}`, { addresses: [`10.0.0.${i + 1}/24`] });
  return count(device, BigInt(i + 1));
});
await world.run(Promise.all([accept(), ...hosts]));
console.log(`the counter is ${shared.view.getBigUint64(8, true)}, it should be ${HOSTS * ROUNDS}`);
