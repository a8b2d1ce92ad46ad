/**
 * Goal: an object is there from its creation to its end, nothing ends what another uses, and the tables of the device
 * and the rings of the host are those of the objects that are there, at any time. Method: random commands, of which the
 * model below says what comes: who uses whom, and nothing else. Seeds are printed by fast-check.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as R from '../../src/uverbs/abi/rxe.ts';
import type { Struct } from '../../src/uverbs/abi/struct.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { attrTo, type End, expectEmpty, gidOf, makeEnds, type Pair } from './support/ends.ts';
import type { Values } from './support/program.ts';

type Kind = 'pd' | 'mr' | 'mw' | 'ah' | 'cq' | 'srq' | 'qp';
interface Thing {
  readonly kind: Kind;
  readonly handle: number;
  uses: readonly Thing[];
  readonly rings: number;
  readonly groups: Set<number>;
  gone: boolean;
}

const NONE = new Uint8Array(0);
const UD = 4;
const TO_INIT = { attr_mask: 0x71, qp_state: 1, port_num: 1, qkey: 1 };
const GROUPS = 3;
const DESTROYS = {
  pd: ['DEALLOC_PD', V.DEALLOC_PD, 'pd_handle'],
  mr: ['DEREG_MR', V.DEREG_MR, 'mr_handle'],
  mw: ['DEALLOC_MW', V.DEALLOC_MW, 'mw_handle'],
  ah: ['DESTROY_AH', Q.DESTROY_AH, 'ah_handle'],
  cq: ['DESTROY_CQ', V.DESTROY_CQ, 'cq_handle'],
  srq: ['DESTROY_SRQ', Q.DESTROY_SRQ, 'srq_handle'],
  qp: ['DESTROY_QP', Q.DESTROY_QP, 'qp_handle'],
} as const;
const KINDS = Object.keys(DESTROYS) as Kind[];

/** What a program has made, by what it was answered. */
class Model {
  readonly things: Thing[] = [];
  /** CREATE_AH under way, and the domains they hold. */
  readonly waiting: { readonly pd: Thing; readonly errno: Promise<number> }[] = [];

  add(kind: Kind, handle: number, uses: readonly Thing[], rings = 0): void {
    this.things.push({ kind, handle, uses, rings, groups: new Set(), gone: false });
  }

  get alive(): Thing[] {
    return this.things.filter(({ gone }) => !gone);
  }

  isUsed(thing: Thing): boolean {
    const waited = this.waiting.some(({ pd }) => pd === thing);
    return thing.groups.size > 0 || waited || this.alive.some(({ uses }) => uses.includes(thing));
  }

  /** Anything, gone or of another kind among it: where `one` falls. */
  pick(one: number): Thing {
    const thing = this.things[one % this.things.length];
    if (thing === undefined) throw new Error('there is always the first domain');
    return thing;
  }
}

/** One random command. */
const step = fc.record({
  what: fc.constantFrom(...KINDS, 'destroy', 'destroy', 'attach', 'detach', 'resize', 'rereg', 'move', 'later', 'wait'),
  of: fc.constantFrom(...KINDS),
  // Mostly of the kind that is asked for.
  wild: fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9), fc.nat(9)),
  one: fc.tuple(fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99)),
  number: fc.nat(99),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Player {
  readonly model = new Model();
  readonly #pair: Pair;
  readonly #end: End;
  readonly #addr: number;

  constructor(pair: Pair) {
    const { left } = pair;
    this.#pair = pair;
    this.#end = left;
    this.#addr = left.mr.addr;
    const { model } = this;
    model.add('pd', left.pd, []);
    const [pd] = model.things as [Thing];
    model.add('mr', left.mr.handle, [pd]);
    model.add('cq', left.cq.handle, [], 1);
    const [, , cq] = model.things as [Thing, Thing, Thing];
    model.add('qp', left.qp.handle, [pd, cq, cq], 2);
  }

  async play({ what, of, wild, one, number }: Step): Promise<void> {
    const arg = (kind: Kind, at: 0 | 1 | 2 | 3): Thing => this.#argument(kind, wild[at] === 0, one[at]);
    switch (what) {
      case 'destroy':
        return this.#destroy(of, arg(of, 0));
      case 'attach':
      case 'detach':
        return this.#group(what, arg('qp', 0), number % GROUPS);
      case 'resize':
        return this.#plain('cq', arg('cq', 0), (cq_handle) =>
          this.#errno('RESIZE_CQ', V.RESIZE_CQ, { cq_handle, cqe: 1 + number }, R.RXE_RESIZE_CQ_RESP.size),
        );
      case 'rereg':
        return this.#rereg(arg('mr', 0), arg('pd', 1));
      case 'move':
        return this.#move(arg('qp', 0));
      case 'later':
        return this.#later(arg('pd', 0), number);
      case 'wait':
        return this.#wait();
      default:
        return this.#make(what, [arg('pd', 0), arg('cq', 1), arg('cq', 2), arg('srq', 3)], number);
    }
  }

  /** Tables and rings are those of what is there. */
  compare(): void {
    const { alive } = this.model;
    const count = (kind: Kind): number => alive.filter((thing) => thing.kind === kind).length;
    const { queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, memoryWindows } =
      this.#end.device.tables();
    const groups = new Set(alive.flatMap((thing) => [...thing.groups]));
    expect({
      ...{ queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, memoryWindows },
      rings: this.#end.program.host.rings.size,
      groups: this.#end.device.multicast.size,
    }).toEqual({
      ...{ queuePairs: count('qp'), completionQueues: count('cq'), sharedReceiveQueues: count('srq') },
      ...{ memoryRegions: count('mr'), memoryWindows: count('mw') },
      rings: alive.reduce((sum, { rings }) => sum + rings, 0),
      groups: groups.size,
    });
  }

  #argument(kind: Kind, isWild: boolean, one: number): Thing {
    const fitting = this.model.alive.filter((thing) => thing.kind === kind);
    return (isWild ? undefined : fitting[one % Math.max(1, fitting.length)]) ?? this.model.pick(one);
  }

  async #errno(name: Parameters<End['program']['send']>[0], layout: Struct, values: Values, more = 0) {
    return (await this.#end.program.send(name, layout, values, NONE, more)).errno;
  }

  /** A command about one object that is there or is not. */
  async #plain(kind: Kind, thing: Thing, run: (handle: number) => Promise<number>): Promise<void> {
    const isGood = thing.kind === kind && !thing.gone;
    expect(await run(thing.handle)).toBe(isGood ? 0 : Errno.EINVAL);
  }

  async #destroy(kind: Kind, thing: Thing): Promise<void> {
    const [name, layout, member] = DESTROYS[kind];
    const errno = await this.#errno(name, layout, { [member]: thing.handle });
    const refusal = thing.gone ? Errno.ENOENT : thing.kind !== kind ? Errno.EINVAL : 0;
    expect([name, errno]).toEqual([name, refusal || (this.model.isUsed(thing) ? Errno.EBUSY : 0)]);
    if (errno === 0) thing.gone = true;
  }

  async #group(what: 'attach' | 'detach', thing: Thing, group: number): Promise<void> {
    const values = { qp_handle: thing.handle, gid: Uint8Array.of(0xff, 0x3e, ...new Uint8Array(13), group + 1) };
    const name = what === 'attach' ? 'ATTACH_MCAST' : 'DETACH_MCAST';
    // Two at the same time, one of which may be for nothing.
    const both = [0, 1].map(() => this.#errno(name, Q.ATTACH_MCAST, values));
    const isGood = thing.kind === 'qp' && !thing.gone;
    const isIn = thing.groups.has(group);
    const detached = isGood && isIn ? [0, Errno.EINVAL] : [Errno.EINVAL, Errno.EINVAL];
    expect(await Promise.all(both)).toEqual(what === 'detach' ? detached : isGood ? [0, 0] : [22, 22]);
    if (!isGood) return;
    if (what === 'attach') thing.groups.add(group);
    else thing.groups.delete(group);
  }

  /** A region goes to another domain. */
  async #rereg(mr: Thing, pd: Thing): Promise<void> {
    const values = { mr_handle: mr.handle, flags: 2, pd_handle: pd.handle };
    const errno = await this.#errno('REREG_MR', V.REREG_MR, values);
    const isGood = mr.kind === 'mr' && pd.kind === 'pd' && !pd.gone;
    expect(errno).toBe(mr.gone ? Errno.ENOENT : isGood ? 0 : Errno.EINVAL);
    if (errno === 0) mr.uses = [pd];
  }

  /** To RESET and from there to INIT: nothing of that is a use. */
  async #move(thing: Thing): Promise<void> {
    for (const values of [{ attr_mask: 1, qp_state: 0 }, TO_INIT])
      await this.#plain('qp', thing, (qp_handle) => this.#errno('MODIFY_QP', Q.MODIFY_QP, { qp_handle, ...values }));
  }

  /** CREATE_AH for a host that never answers. */
  async #later(pd: Thing, number: number): Promise<void> {
    const isGood = pd.kind === 'pd' && !pd.gone;
    const values = { pd_handle: pd.handle, attr: attrTo(gidOf(100 + number)) };
    const errno = this.#errno('CREATE_AH', Q.CREATE_AH, values, R.RXE_CREATE_AH_RESP.size);
    if (isGood) this.model.waiting.push({ pd, errno });
    else expect(await errno).toBe(Errno.EINVAL);
  }

  async #wait(): Promise<void> {
    for (const { errno } of this.model.waiting.splice(0))
      expect(await this.#pair.world.run(errno)).toBe(Errno.EHOSTUNREACH);
  }

  async #make(kind: Kind, [pd, cq, other, srq]: readonly [Thing, Thing, Thing, Thing], number: number): Promise<void> {
    const shares = kind === 'qp' && number % 2 === 1;
    const uses = { cq: [], qp: [pd, cq, other, ...(shares ? [srq] : [])], pd: [] } as Partial<Record<Kind, Thing[]>>;
    const used = uses[kind] ?? [pd];
    const kinds: readonly Kind[] = ['pd', 'cq', 'cq', 'srq'];
    const isGood = used.every((thing, at) => thing.kind === kinds[at] && !thing.gone);
    const [name, layout, values, more, rings = 0] = this.#creation(kind, [pd, cq, other, srq], shares);
    const sending = this.#end.program.send(name, layout, values, NONE, more);
    const { errno, response } = await this.#pair.world.run(sending);
    expect([name, errno]).toEqual([name, isGood ? 0 : Errno.EINVAL]);
    if (errno === 0)
      this.model.add(kind, new DataView(response.buffer).getUint32(response.byteOffset, true), used, rings);
  }

  #creation(kind: Kind, [pd, cq, other, srq]: readonly [Thing, Thing, Thing, Thing], shares: boolean) {
    const pd_handle = pd.handle;
    const memory = { start: this.#addr, hca_va: this.#addr, length: 64, access_flags: 1 };
    const qp = { qp_type: UD, send_cq_handle: cq.handle, recv_cq_handle: other.handle };
    const shared = shares ? { is_srq: 1, srq_handle: srq.handle } : {};
    const all = {
      pd: ['ALLOC_PD', V.ALLOC_PD, {}, 0],
      mr: ['REG_MR', V.REG_MR, { pd_handle, ...memory }, 0],
      mw: ['ALLOC_MW', V.ALLOC_MW, { pd_handle, mw_type: 2 }, 0],
      ah: ['CREATE_AH', Q.CREATE_AH, { pd_handle, attr: attrTo(gidOf(2)) }, R.RXE_CREATE_AH_RESP.size],
      cq: ['CREATE_CQ', V.CREATE_CQ, { cqe: 3, comp_channel: -1 }, R.RXE_CREATE_CQ_RESP.size, 1],
      srq: ['CREATE_SRQ', Q.CREATE_SRQ, { pd_handle, max_wr: 3, max_sge: 1 }, R.RXE_CREATE_SRQ_RESP.size, 1],
      qp: ['CREATE_QP', Q.CREATE_QP, { pd_handle, ...qp, ...shared }, R.RXE_CREATE_QP_RESP.size, shares ? 1 : 2],
    } as const;
    return all[kind];
  }
}

it('an object is there until its own end, and counted as long', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
      const pair = await makeEnds({ type: UD });
      const player = new Player(pair);
      for (const one of steps) {
        await player.play(one);
        player.compare();
      }
      expect(pair.left.device.counters.internalErrors).toBe(0);
      // With or without what still waits.
      if (steps.length % 2 === 0) await player.play({ ...(steps[0] as Step), what: 'wait' });
      await expectEmpty(pair);
    }),
    { numRuns: fcRuns(100) },
  );
});
