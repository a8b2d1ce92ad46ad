/**
 * A subject made of the tester's device under test: in-process, in a guest, or remote. Owns the names of what it makes,
 * for as long as a connection lives.
 */

import type { Packet } from 'rocev2/packets/kit';
import type { AccessFlag, HostCompletion, HostHandle } from '../host-control/host-control.ts';
import type { Delivered } from '../model/responder-state.ts';
import { register } from '../tester/connect.ts';
import type { Dut } from '../tester/dut.ts';
import type { Region, TesterPeer } from '../tester/peer.ts';
import { Tester } from '../tester/tester.ts';
import type { LocalRequest, Subject, SubjectConnection, SubjectConnectionOptions } from './subject.ts';

/**
 * The device as properties see it. `seed` is of what the tester leaves to chance. @throws NotApplicable without host
 * control
 */
export function testerSubject(dut: Dut, seed: number): Subject {
  const features = dut.features ?? [];
  let count = 0;
  return {
    name: dut.name,
    flush: features.includes('flush'),
    atomicWrite: features.includes('atomic-write'),
    atomics: features.includes('atomics'),
    hostControl: dut.hostControl !== undefined,
    patienceNs: dut.patienceNs,
    lingerNs: dut.virtual ? dut.quietNs : LINGER_NS,
    virtual: dut.virtual,
    gone: () => dut.gone,
    renew: () => dut.renew(),
    fresh: (options) => connect(new Tester({ dut, seed: (seed + count++) & 0x7f_ff_ff_ff, psn: options.psn }), options),
    run: (promise) => dut.run(promise),
  };
}

async function connect(t: Tester, options: SubjectConnectionOptions): Promise<SubjectConnection> {
  const { psn, dutPsn, mtu, memory, access, receives, receiveBytes } = options;
  const { maxDestRdAtomic, rnrTimer, maxRdAtomic, timeout, retryCnt, rnrRetry } = options;
  const pd = t.handle();
  const all: readonly AccessFlag[] = ['local-write', 'remote-write', 'remote-read', 'remote-atomic'];
  const allocated = t.hostControl.call('pd.alloc', { pd });
  const flushes = t.has('flush');
  const rights: readonly AccessFlag[] = flushes ? [...all, 'flush-global'] : all;
  const region = register(t, pd, memory.length, rights);
  const local = register(t, pd, Math.max(8, options.localBytes), ['local-write']);
  const [reached, own] = await Promise.all([region.region, local.region, allocated]);
  const peer = await t.connect({
    ...{ psn, dutPsn, mtu, pd, region: reached, receives, receiveBytes },
    ...{ maxDestRdAtomic, minRnrTimer: rnrTimer, maxRdAtomic, timeout, retryCnt, rnrRetry },
    access: [
      'local-write',
      ...(access.read ? (['remote-read'] as const) : []),
      ...(access.write ? (['remote-write'] as const) : []),
      ...(access.atomic ? (['remote-atomic'] as const) : []),
      ...(flushes ? (['flush-global'] as const) : []),
    ],
    maxRecvWr: MAX_RECEIVES,
    maxSendWr: 128,
  });
  if (memory.some((byte) => byte !== 0)) await peer.setMemory(0, memory);
  return new TesterConnection(t, peer, own, options);
}

class TesterConnection implements SubjectConnection {
  readonly region: { readonly va: bigint; readonly rkey: number; readonly length: number };
  readonly #t: Tester;
  readonly #peer: TesterPeer;
  readonly #local: Region;
  readonly #receiveBytes: number;
  /** Regions of the receives posted, in order, and where in them. */
  readonly #receives: { readonly mr: HostHandle; readonly offset: number }[] = [];
  readonly #delivered: Delivered[] = [];

  constructor(t: Tester, peer: TesterPeer, local: Region, { receives, receiveBytes }: SubjectConnectionOptions) {
    this.#t = t;
    this.#peer = peer;
    this.#local = local;
    this.#receiveBytes = receiveBytes;
    this.region = peer.region;
    for (let i = 0; i < receives; i++) this.#receives.push({ mr: t.need(peer.buffers?.mr), offset: i * receiveBytes });
  }

  send(packets: readonly Packet[]): void {
    this.#peer.tx(...packets);
  }

  async next(withinNs: number): Promise<Packet | undefined> {
    return (await this.#peer.take(withinNs))?.packet;
  }

  now(): number {
    return this.#t.now();
  }

  sleep(durationNs: number): Promise<void> {
    return this.#t.sleep(durationNs);
  }

  async postReceives(count: number): Promise<void> {
    const { mr, region } = register(this.#t, this.#peer.pd, count * this.#receiveBytes, ['local-write']);
    const calls: Promise<unknown>[] = [region];
    for (let i = 0; i < count; i++) {
      const offset = i * this.#receiveBytes;
      this.#receives.push({ mr, offset });
      const pieces = [{ mr, offset, length: this.#receiveBytes }];
      calls.push(this.#t.hostControl.call('qp.recv', { qp: this.#peer.qp, wrId: this.#receives.length, pieces }));
    }
    await Promise.all(calls);
  }

  async delivered(expected: number): Promise<readonly Delivered[]> {
    const { dut } = this.#t;
    const deadline = this.now() + dut.patienceNs;
    for (;;) {
      const { completions } = await this.#t.hostControl.call('cq.poll', { cq: this.#peer.recvCq, max: 100 });
      for (const one of completions) if (one.status === 0) this.#delivered.push(await this.#contents(one));
      if (this.#delivered.length >= expected || this.now() >= deadline) return this.#delivered;
      await this.sleep(dut.pollNs);
    }
  }

  async #contents({ wrId, byteLen, imm, opcode }: HostCompletion): Promise<Delivered> {
    const receive = this.#receives[wrId - 1];
    if (opcode === RECV_RDMA_WITH_IMM || receive === undefined) return { length: byteLen, imm, data: undefined };
    const { mr, offset } = receive;
    return { length: byteLen, imm, data: await this.#read(mr, offset, Math.min(byteLen, this.#receiveBytes)) };
  }

  memory(): Promise<Uint8Array> {
    return this.#peer.memory(0, this.region.length);
  }

  async post({ offset, length, ...request }: LocalRequest): Promise<void> {
    const pieces = length === 0 ? [] : [{ mr: this.#t.need(this.#local.mr), offset, length }];
    await this.#peer.post({ ...request, pieces });
  }

  async completions(): Promise<readonly HostCompletion[]> {
    return (await this.#t.hostControl.call('cq.poll', { cq: this.#peer.sendCq, max: 100 })).completions;
  }

  local(): Promise<Uint8Array> {
    return this.#t.memory(this.#local, 0, this.#local.length);
  }

  setLocal(offset: number, bytes: Uint8Array): Promise<void> {
    return this.#t.setMemory(this.#local, offset, bytes);
  }

  async failed(): Promise<boolean> {
    return (await this.#peer.state()) === 'ERR';
  }

  close(): Promise<void> {
    return this.#t.end();
  }

  async #read(mr: HostHandle, offset: number, length: number): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0);
    const { hex } = await this.#t.hostControl.call('mem.read', { mr, offset, length });
    return Uint8Array.from({ length }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
  }
}

/** Of a live device: long enough for what it has sent already. */
const LINGER_NS = 2e6;
const MAX_RECEIVES = 128;
/** IBV_WC_RECV_RDMA_WITH_IMM. */
const RECV_RDMA_WITH_IMM = 129;
