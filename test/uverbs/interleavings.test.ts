/**
 * Goal: whatever commands overtake those that wait, each is answered, what a queue pair says of itself is what it does,
 * and a file that is closed leaves nothing. Method: random commands that are not waited for, with time passing between
 * some of them; the wire leads to hosts that answer and one that does not. Seeds are printed by fast-check.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import * as C from '../../src/uverbs/abi/cm.ts';
import type { CommandName } from '../../src/uverbs/abi/commands.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as R from '../../src/uverbs/abi/rxe.ts';
import type { Struct } from '../../src/uverbs/abi/struct.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { CmProgram, sockaddr } from './support/cm-program.ts';
import { attrTo, expectEmpty, gidIndex, gidOf, Mask, makeDevice, makeEnds, type Pair } from './support/ends.ts';
import { fill, pick, plain, type Values } from './support/program.ts';

const NONE = new Uint8Array(0);
const [RESET, INIT, RTR, RTS, SQD] = [0, 1, 2, 3, 4];

/** The host that does not answer. */
const NOBODY = 99;

const step = fc.record({
  what: fc.constantFrom(
    ...(['on', 'on', 'on', 'on', 'on', 'on', 'rtr', 'rts', 'sqd', 'path', 'reset', 'createAh', 'destroyAh'] as const),
    ...([
      'resize',
      'resolve',
      'resolve',
      'resolve',
      'destroyId',
      'migrate',
      'migrate',
      'time',
      'time',
      'time',
    ] as const),
  ),
  host: fc.constantFrom(2, 3, 4, 5, NOBODY),
  number: fc.nat(1000),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** An id of rdma_cm whose address is being resolved. */
interface Wish {
  readonly id: number;
  readonly host: number;
  owner: CmProgram;
}

class Player {
  readonly #pair: Pair;
  /** The third has no ids. */
  readonly #cms: readonly [CmProgram, CmProgram, CmProgram];
  readonly #ids: number[] = [];
  readonly #answers: Promise<void>[] = [];
  readonly #handles: number[] = [];
  readonly #wishes: Wish[] = [];

  constructor(pair: Pair) {
    const server = createUverbsServer(pair.left.device);
    this.#pair = pair;
    this.#cms = [new CmProgram(server), new CmProgram(server), new CmProgram(server)];
  }

  play({ what, host, number }: Step): void {
    const { left, world } = this.#pair;
    const wish = this.#wishes[number % Math.max(1, this.#wishes.length)];
    if (what === 'on') this.#modify(ON[this.#core?.state ?? RESET] ?? 'reset', host, number);
    else if (what === 'createAh') this.#createAh(host);
    else if (what === 'destroyAh')
      this.#begin(host, 'DESTROY_AH', Q.DESTROY_AH, { ah_handle: this.#handles.pop() ?? 0 });
    else if (what === 'resize')
      this.#begin(host, 'RESIZE_CQ', V.RESIZE_CQ, { cq_handle: left.cq.handle, cqe: 1 + (number % 50) });
    else if (what === 'resolve') this.#resolve(host);
    else if (what === 'destroyId') this.#destroyId(wish);
    else if (what === 'migrate') this.#migrate(wish);
    else if (what === 'time') world.runFor(number * 5e6);
    else this.#modify(what, host, number);
  }

  /** What the queue pair says of itself is what it does. */
  compare(): void {
    const { program, qp } = this.#pair.left;
    const request = fill(Q.QUERY_QP, { qp_handle: qp.handle, attr_mask: 1 });
    const answer = program.file.command(plain('QUERY_QP', request, NONE, Q.QUERY_QP_RESP.size));
    if (answer instanceof Promise) throw new Error('QUERY_QP waits for nothing');
    const { errno, response } = answer;
    const core = this.#core;
    const state = pick(Q.QUERY_QP_RESP, response, 'qp_state');
    expect([errno, state]).toEqual([0, core?.state]);
    if (core === undefined || state < RTR || state > SQD) return;
    const said = IpAddress.fromGid(new DataView(response.buffer, response.byteOffset), Q.QUERY_QP_RESP.at.dest);
    const { path, destQpn } = core.config;
    expect(`${said} ${pick(Q.QUERY_QP_RESP, response, 'dest_qp_num')}`).toBe(`${path?.remote} ${destQpn}`);
  }

  /** A file of rdma_cm is closed; ids that have moved to the other one stay. */
  closeIds(): void {
    const [owner] = this.#cms;
    owner.file.close();
    for (const wish of this.#wishes.filter((one) => one.owner === owner))
      this.#wishes.splice(this.#wishes.indexOf(wish), 1);
  }

  /** Every command is answered, every id that is there has its one event, and none is left by its file. */
  async finish(): Promise<void> {
    const { world } = this.#pair;
    await world.run(Promise.all(this.#answers));
    world.runFor(1e10);
    await world.run(Promise.resolve());
    const [one, two, other] = this.#cms;
    for (const cm of [one, two]) {
      const events = this.#wishes.filter(({ owner }) => owner === cm);
      const read = [];
      for (let event = cm.event(); event !== undefined; event = cm.event()) read.push([event.id, event.status]);
      const wished = events.map(({ id, host }) => [id, host === NOBODY ? -Errno.EHOSTUNREACH : 0]);
      expect(read.sort()).toEqual(wished.sort());
      cm.file.close();
    }
    for (const id of this.#ids) expect(other.errno('DESTROY_ID', C.DESTROY_ID, { id })).toBe(Errno.ENOENT);
  }

  get #core() {
    const { device, qp } = this.#pair.left;
    return [...device.queuePairs].find(({ qpn }) => qpn === qp.qpn)?.core;
  }

  /** A command about a host; `done` gets the response where it succeeds. */
  #begin(
    host: number,
    name: CommandName,
    layout: Struct,
    values: Values,
    done: (response: Uint8Array) => void = () => {},
  ): void {
    const sending = this.#pair.left.program.send(name, layout, values, NONE, R.RXE_RESIZE_CQ_RESP.size);
    const answered = sending.then(({ errno, response }) => {
      expect([name, errno]).toSatisfy(() => EXPECTED.has(errno) || (errno === Errno.EHOSTUNREACH && host === NOBODY));
      if (errno === 0) done(response);
    });
    this.#answers.push(answered);
  }

  #modify(what: keyof typeof MOVES, host: number, number: number): void {
    const dest = fill(Q.QP_DEST, { dgid: gidOf(host), sgid_index: gidIndex, is_global: 1, port_num: 1 });
    const [attr_mask, values] = MOVES[what];
    const { handle } = this.#pair.left.qp;
    const both = { attr_mask: attr_mask | Mask.STATE, dest, dest_qp_num: 2 + number };
    this.#begin(host, 'MODIFY_QP', Q.MODIFY_QP, { qp_handle: handle, ...both, ...values });
  }

  #createAh(host: number): void {
    const values = { pd_handle: this.#pair.left.pd, attr: attrTo(gidOf(host)) };
    this.#begin(host, 'CREATE_AH', Q.CREATE_AH, values, (response) =>
      this.#handles.push(pick(Q.CREATE_AH_RESP, response, 'ah_handle')),
    );
  }

  #resolve(host: number): void {
    const [owner] = this.#cms;
    const id = owner.createId(1);
    owner.ok('RESOLVE_IP', C.RESOLVE_IP, { id, timeout_ms: 2000, dst_addr: sockaddr(`10.0.0.${host}`, 7) });
    this.#ids.push(id);
    this.#wishes.push({ id, host, owner });
  }

  #destroyId(wish: Wish | undefined): void {
    if (wish === undefined) return;
    wish.owner.ok('DESTROY_ID', C.DESTROY_ID, { id: wish.id });
    this.#wishes.splice(this.#wishes.indexOf(wish), 1);
  }

  #migrate(wish: Wish | undefined): void {
    if (wish === undefined) return;
    const [one, two] = this.#cms;
    const to = wish.owner === one ? two : one;
    to.ok('MIGRATE_ID', C.MIGRATE_ID, { id: wish.id, fd: wish.owner.number });
    wish.owner = to;
  }
}

const MOVES = {
  reset: [0, { qp_state: RESET }],
  init: [Mask.PKEY | Mask.PORT | Mask.ACCESS, { qp_state: INIT, port_num: 1, qp_access_flags: 1 }],
  rtr: [
    Mask.AV | Mask.DEST | Mask.MTU | Mask.RQ_PSN | Mask.DEST_RD | Mask.MIN_RNR,
    { qp_state: RTR, path_mtu: 3, rq_psn: 9, min_rnr_timer: 1, max_dest_rd_atomic: 4 },
  ],
  rts: [
    Mask.SQ_PSN | Mask.TIMEOUT | Mask.RETRY | Mask.RNR | Mask.RD,
    { qp_state: RTS, sq_psn: 9, timeout: 10, retry_cnt: 3, rnr_retry: 2, max_rd_atomic: 4 },
  ],
  sqd: [0, { qp_state: SQD }],
  path: [Mask.AV | Mask.CUR_STATE, { qp_state: SQD, cur_qp_state: SQD }],
} as const;

/** The move that a state is left by, or stays in. */
const ON = ['init', 'rtr', 'rts', 'sqd', 'path'] as const;

/** A move that its state does not allow, no such handle, a file that is closed, and its queue pair. */
const EXPECTED = new Set<number>([0, Errno.EINVAL, Errno.ENOENT, Errno.EIO, Errno.ENODEV]);

it('commands that overtake others are all answered, and leave what they say', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const pair = await makeEnds();
      for (const id of [3, 4, 5]) makeDevice(pair.world, id);
      const player = new Player(pair);
      for (const one of steps) {
        player.play(one);
        player.compare();
        // What waits goes on then, and not between other steps.
        if (one.what === 'time') await pair.world.run(Promise.resolve());
      }
      // With or without what still waits.
      if (steps.length % 2 === 0) pair.left.program.file.close();
      if (steps.length % 3 === 0) player.closeIds();
      await player.finish();
      expect(pair.left.device.counters.internalErrors).toBe(0);
      await expectEmpty(pair);
    }),
    { numRuns: fcRuns(100) },
  );
});
