/**
 * Memory windows against a naive oracle. Goal: whatever is bound, invalidated and freed, and whoever comes with
 * whichever key, address, length and operation: what is opened is what the oracle says, and no byte changes that it
 * does not change. Method: random sequences of work requests and packets on four queue pairs of two protection domains
 * that share regions, windows and keys; PSNs cross the wrap.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, type MemoryRegion, MemoryWindow, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  atomicAck,
  atomicWrite,
  describePacket,
  fetchAdd,
  flush,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  sendOnlyInv,
  writeOnly,
} from '../transport/support/packets.ts';
import { fcRuns, Peer, seededRandom } from '../transport/support/peer.ts';

const { LocalWrite, RemoteWrite, RemoteRead, RemoteAtomic, MwBind, ZeroBased, FlushGlobal } = Access;
const EVERYTHING = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic | FlushGlobal;
const REGION_BYTES = 96;
/** The regions lie close to one another, so that an address outside one is often inside another. */
const IOVAS = [0xff_ff_ff_a0n, 0x1_00_00_00_00n, 0x1_00_00_00_70n];
/** 0 and 1 are of the first domain, 2 and 3 of the second; regions and windows likewise. */
const domainOf = (i: number): number => i >> 1;

interface Step {
  readonly kind: 'bind' | 'local invalidate' | 'remote invalidate' | 'free' | 'access';
  readonly qp: number;
  readonly window: number;
  readonly region: number;
  /** Access: through the window's key, one it had before, one nobody has, or the region's own. */
  readonly through: 'window' | 'old' | 'wrong' | 'region';
  readonly operation: 'read' | 'write' | 'atomic' | 'atomic write' | 'flush';
  /** Whether queue pair and region are those that belong to the window, not those drawn. */
  readonly own: boolean;
  /** How the range lies in what it is drawn for: the region to bind, the window to access. */
  readonly place: 'inside' | 'to the end' | 'one over' | 'one before' | 'anywhere';
  readonly offset: number;
  readonly length: number;
  readonly rights: number;
  readonly variant: number;
}

const RIGHTS = [RemoteRead, RemoteWrite, RemoteAtomic, FlushGlobal, ZeroBased];
const index = fc.nat(3);

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('bind' as const) },
    { weight: 2, arbitrary: fc.constantFrom('local invalidate' as const, 'remote invalidate' as const) },
    { weight: 1, arbitrary: fc.constant('free' as const) },
    { weight: 8, arbitrary: fc.constant('access' as const) },
  ),
  qp: index,
  window: index,
  region: index,
  through: fc.oneof(
    { weight: 6, arbitrary: fc.constant('window' as const) },
    { weight: 1, arbitrary: fc.constantFrom('old' as const, 'wrong' as const, 'region' as const) },
  ),
  operation: fc.constantFrom('read', 'write', 'atomic', 'atomic write', 'flush'),
  own: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  place: fc.oneof(
    { weight: 5, arbitrary: fc.constant('inside' as const) },
    { weight: 2, arbitrary: fc.constant('to the end' as const) },
    { weight: 1, arbitrary: fc.constantFrom('one over' as const, 'one before' as const, 'anywhere' as const) },
  ),
  offset: fc.integer({ min: -8, max: 104 }),
  length: fc.oneof(fc.constantFrom(0, 1, 8), fc.nat(100)),
  rights: fc.subarray(RIGHTS, { minLength: 2 }).map((flags) => flags.reduce((a, b) => a | b, 0)),
  variant: fc.nat(0xff),
});

/** Offset and length of the range of a step in something `size` bytes long. */
function rangeOf({ place, offset, length }: Step, size: number): [offset: number, length: number] {
  const start = Math.abs(offset) % size;
  if (place === 'inside') return [start, length % (size - start + 1)];
  if (place === 'to the end') return [start, size - start];
  if (place === 'one over') return [start, size - start + 1];
  return place === 'one before' ? [-1, length] : [offset, length];
}

/** What was met over all runs: a property that binds and opens nothing shows nothing. */
const met = { bound: 0, notBound: 0, opened: 0, notOpened: 0, invalidated: 0, notInvalidated: 0 };

/** What the oracle knows of a window that is bound. */
interface Binding {
  readonly qp: number;
  readonly region: number;
  readonly offset: number;
  readonly length: number;
  readonly rights: number;
  /** Address of its first byte. */
  readonly from: bigint;
}

interface OracleWindow {
  key: number;
  oldKey: number;
  binding: Binding | undefined;
}

class World {
  readonly #keys = new KeyTable(seededRandom(7), 1000);
  readonly #domains = [new ProtectionDomain(1), new ProtectionDomain(2)];
  readonly #peers: Peer[];
  readonly #psns = [0, 0, 0, 0];
  readonly #msns = [0, 0, 0, 0];
  readonly #regions: MemoryRegion[];
  #windows: MemoryWindow[];
  readonly #model: Uint8Array[];
  #oracle: OracleWindow[];

  constructor(regionRights: readonly number[]) {
    const keys = this.#keys;
    this.#peers = [0, 1, 2, 3].map((i) => {
      const options = { keys, pd: this.#domain(i), qpn: 0x100 + i, access: EVERYTHING, psn: 0xff_ff_f8 };
      return new Peer(options);
    });
    this.#regions = [0, 1, 2, 3].map((i) => {
      const access = regionRights[i] ?? 0;
      const bytes = pattern(REGION_BYTES, i);
      return keys.register(this.#domain(i), bytes, { access, iova: IOVAS[i % 3] ?? 0n, remoteInvalidate: i === 1 });
    });
    this.#model = this.#regions.map(({ bytes }) => bytes.slice());
    this.#windows = [0, 1, 2, 3].map((i) => this.#window(i));
    this.#oracle = this.#windows.map(({ rkey }) => ({ key: rkey, oldKey: rkey, binding: undefined }));
  }

  run(each: Step): void {
    if (each.kind === 'bind') this.#bind(each);
    else if (each.kind === 'free') this.#free(each.window);
    else if (each.kind === 'access') this.#access(each);
    else this.#invalidate(each, each.kind === 'local invalidate');
    for (const [i, { bytes, windows }] of this.#regions.entries()) {
      expect(bytes).toEqual(this.#model[i]);
      expect(windows).toBe(this.#oracle.filter(({ binding }) => binding?.region === i).length);
    }
    for (const [i, { rkey, grant }] of this.#windows.entries())
      expect([rkey, grant !== undefined]).toEqual([this.#oracle[i]?.key, this.#oracle[i]?.binding !== undefined]);
  }

  #domain(i: number): ProtectionDomain {
    return this.#domains[domainOf(i)] as ProtectionDomain;
  }

  #window(i: number): MemoryWindow {
    return this.#keys.allocateWindow(this.#domain(i), (pd, rkey) => new MemoryWindow(pd, rkey));
  }

  #bind(each: Step): void {
    const { window, rights, variant, own } = each;
    const qp = own ? domainOf(window) * 2 + (each.qp & 1) : each.qp;
    const region = own ? domainOf(window) * 2 + (each.region & 1) : each.region;
    const [offset, length] = rangeOf(each, REGION_BYTES);
    const known = this.#oracle[window] as OracleWindow;
    const mr = this.#regions[region] as MemoryRegion;
    const addr = mr.iova + BigInt(offset);
    const rkey = ((known.key & ~0xff) | variant) >>> 0;
    const same = domainOf(qp) === domainOf(window) && domainOf(qp) === domainOf(region);
    const writes = (rights & (RemoteWrite | RemoteAtomic)) !== 0;
    const allowed =
      known.binding === undefined &&
      same &&
      length > 0 &&
      offset >= 0 &&
      offset + length <= REGION_BYTES &&
      (mr.access & MwBind) !== 0 &&
      (!writes || (mr.access & LocalWrite) !== 0) &&
      ((rights & FlushGlobal) === 0 || (mr.access & FlushGlobal) !== 0);
    const mw = this.#windows[window] as MemoryWindow;
    this.#work(
      qp,
      { opcode: WrOpcode.BindMw, mw, rkey, bind: { mr, addr, length, access: rights } },
      allowed,
      'BindMw',
    );
    met[allowed ? 'bound' : 'notBound'] += 1;
    if (!allowed) return;
    known.oldKey = known.key;
    known.key = rkey;
    known.binding = { qp, region, offset, length, rights, from: (rights & ZeroBased) === 0 ? addr : 0n };
  }

  /** Of a window through the queue pair it is bound to, or of region 1 while no window keeps it. */
  #invalidate(each: Step, local: boolean): void {
    const { through, window, region, own } = each;
    const qp = (own ? this.#oracle[window]?.binding?.qp : undefined) ?? each.qp;
    const key = this.#keyOf(through, window, region);
    const i = this.#oracle.findIndex((each) => each.key === key && each.binding !== undefined);
    const known = this.#oracle[i];
    // Region 1 is left alone: what follows needs it.
    if (i < 0 && key === this.#regions[1]?.rkey) return;
    const allowed = known?.binding?.qp === qp;
    if (local) this.#work(qp, { opcode: WrOpcode.LocalInv, invalidateRkey: key }, allowed, 'LocalInv');
    else {
      const peer = this.#peers[qp] as Peer;
      peer.postRecv(1);
      this.#exchange(qp, (psn) => sendOnlyInv({ psn, inv: key, ackReq: true }), allowed ? (at) => ack(at) : undefined);
      const status = allowed ? `Success Recv 0 bytes inv 0x${key.toString(16)}` : 'RemInvReqErr';
      expect(peer.completions()).toEqual([`recv 1 ${status}`]);
    }
    met[allowed ? 'invalidated' : 'notInvalidated'] += 1;
    if (allowed && known !== undefined) known.binding = undefined;
    this.#revive(qp);
  }

  #free(window: number): void {
    this.#keys.deallocateWindow(this.#windows[window] as MemoryWindow);
    this.#windows = this.#windows.with(window, this.#window(window));
    const { rkey } = this.#windows[window] as MemoryWindow;
    const oldKey = this.#oracle[window]?.key ?? 0;
    this.#oracle = this.#oracle.with(window, { key: rkey, oldKey, binding: undefined });
  }

  #access(each: Step): void {
    const { operation } = each;
    const binding = this.#oracle[each.window]?.binding;
    const qp = (each.own ? binding?.qp : undefined) ?? each.qp;
    const key = this.#keyOf(each.through, each.window, each.region);
    const aligned = operation === 'atomic' || operation === 'atomic write';
    const [offset, drawn] = rangeOf(each, each.through === 'region' ? REGION_BYTES : (binding?.length ?? REGION_BYTES));
    const length = aligned ? 8 : drawn;
    const va = BigInt.asUintN(64, this.#base(each) + BigInt(offset));
    const address = aligned ? va & ~7n : va;
    const opened = this.#open(key, qp, RIGHT[operation], address, length);
    met[opened === undefined ? 'notOpened' : 'opened'] += 1;
    const free = length === 0 && (operation === 'read' || operation === 'write');
    const reth = { va: address, rkey: key, length };
    const data = pattern(length, offset + 200);
    const request = (psn: number): Packet => {
      if (operation === 'read') return readRequest({ psn, reth });
      if (operation === 'write') return writeOnly({ psn, reth, payload: data, ackReq: true });
      if (operation === 'flush') return flush({ psn, reth });
      if (operation === 'atomic write') return atomicWrite({ psn, reth, payload: data });
      return fetchAdd({ psn, va: address, rkey: key, add: 1n });
    };
    const before = opened?.slice() ?? new Uint8Array(0);
    const answer = (at: { psn: number; msn: number }): Packet => {
      if (operation === 'read') return readOnly({ ...at, payload: before });
      if (operation === 'write') return ack(at);
      if (operation !== 'atomic') return readOnly(at);
      return atomicAck({ ...at, original: new DataView(before.buffer).getBigUint64(0, true) });
    };
    this.#exchange(qp, request, opened !== undefined || free ? answer : undefined);
    if (opened !== undefined) change(opened, operation, data);
    this.#revive(qp);
  }

  /**
   * The bytes of the model that a key opens to a queue pair, or undefined: one condition after the other, as a reader
   * would.
   */
  #open(key: number, qp: number, right: number, va: bigint, length: number): Uint8Array | undefined {
    for (const { key: its, binding } of this.#oracle) {
      if (its !== key || binding === undefined) continue;
      const at = va - binding.from;
      if (binding.qp !== qp || (binding.rights & right) === 0) return undefined;
      if (at < 0n || at + BigInt(length) > BigInt(binding.length)) return undefined;
      return this.#model[binding.region]?.subarray(binding.offset + Number(at), binding.offset + Number(at) + length);
    }
    const i = this.#regions.findIndex(({ rkey }) => rkey === key);
    const region = this.#regions[i];
    if (region === undefined || domainOf(i) !== domainOf(qp) || (region.access & right) === 0) return undefined;
    const at = va - region.iova;
    if (at < 0n || at + BigInt(length) > BigInt(REGION_BYTES)) return undefined;
    return this.#model[i]?.subarray(Number(at), Number(at) + length);
  }

  #keyOf(through: Step['through'], window: number, region: number): number {
    const { key, oldKey } = this.#oracle[window] as OracleWindow;
    if (through === 'old') return oldKey;
    if (through === 'wrong') return (key ^ 0x40) >>> 0;
    return through === 'window' ? key : (this.#regions[region]?.rkey ?? 0);
  }

  /** Near what the key is for, so that both sides of every edge are met. */
  #base({ through, window, region }: Step): bigint {
    const binding = this.#oracle[window]?.binding;
    return through === 'region' || binding === undefined ? (this.#regions[region]?.iova ?? 0n) : binding.from;
  }

  #work(qp: number, wr: object, allowed: boolean, opcode: 'BindMw' | 'LocalInv'): void {
    const peer = this.#peers[qp] as Peer;
    peer.post({ wrId: 1, opcode: WrOpcode[opcode], ...wr });
    peer.silence();
    const failure = opcode === 'BindMw' ? 'MwBindErr' : 'LocQpOpErr';
    expect(peer.completions()).toEqual([`send 1 ${allowed ? `Success ${opcode}` : failure}`]);
    this.#revive(qp);
  }

  /**
   * One request and its answer; without an answer, a NAK for the key, or silence for an invalidation that is refused.
   */
  #exchange(
    qp: number,
    request: (psn: number) => Packet,
    answer: ((at: { psn: number; msn: number }) => Packet) | undefined,
  ): void {
    const peer = this.#peers[qp] as Peer;
    const psn = this.#psns[qp] as number;
    const msn = this.#msns[qp] as number;
    const packet = request(psn);
    peer.rx(packet);
    const refusal = packet.inv === undefined ? [nak(0x62, { psn, msn })] : [];
    const expected = answer === undefined ? refusal : [answer({ psn, msn: msn + 1 })];
    expect(peer.drain().map(describePacket)).toEqual(expected.map(describePacket));
    this.#psns[qp] = psn + 1;
    this.#msns[qp] = msn + 1;
  }

  /** A queue pair in ERROR is connected anew: what is bound to it stays bound. */
  #revive(qp: number): void {
    const peer = this.#peers[qp] as Peer;
    if (peer.qp.state !== QpState.Error) return;
    peer.qp.modify({ state: QpState.Reset });
    peer.connect({ access: EVERYTHING });
    peer.completions();
    this.#psns[qp] = 0;
    this.#msns[qp] = 0;
  }
}

const RIGHT: Readonly<Record<Step['operation'], number>> = {
  read: RemoteRead,
  write: RemoteWrite,
  atomic: RemoteAtomic,
  'atomic write': RemoteWrite,
  flush: FlushGlobal,
};

function change(opened: Uint8Array, operation: Step['operation'], data: Uint8Array): void {
  if (operation === 'write' || operation === 'atomic write') opened.set(data);
  if (operation !== 'atomic') return;
  const view = new DataView(opened.buffer, opened.byteOffset, 8);
  view.setBigUint64(0, BigInt.asUintN(64, view.getBigUint64(0, true) + 1n), true);
}

const regionRights = fc.oneof(
  { weight: 3, arbitrary: fc.constant(EVERYTHING | MwBind) },
  { weight: 1, arbitrary: fc.constantFrom(EVERYTHING, MwBind, MwBind | RemoteRead, LocalWrite | MwBind, LocalWrite) },
);

describe('memory windows', () => {
  it('KEY-10 KEY-11 KEY-14 KEY-15 KEY-20 open to each queue pair what the oracle says, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.tuple(regionRights, regionRights, regionRights, regionRights),
        fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
        (rights, steps) => {
          const world = new World(rights);
          for (const each of steps) world.run(each);
        },
      ),
      { numRuns: fcRuns(150) },
    );
    for (const count of Object.values(met)) expect(count).toBeGreaterThan(fcRuns(150) / 10);
  });
});
