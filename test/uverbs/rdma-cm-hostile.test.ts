/**
 * Clients of rdma_cm that send any command about any id at any time, from two files and to both ends of a wire. Goal:
 * nothing throws, no error of ours is caught, events name ids of their file, and all is gone with the files. Method:
 * properties over the programs of support/. Seeds are printed by fast-check.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as C from '../../src/uverbs/abi/cm.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { CmProgram, PortSpace, sockaddr } from './support/cm-program.ts';
import { expectEmpty, makeEnds } from './support/ends.ts';
import { fill } from './support/program.ts';

const PORTS = [7174, 7175];
const ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.0.0.9', '0.0.0.0', '127.0.0.1', '239.1.1.1'];
const SPACES = [PortSpace.Tcp, PortSpace.Tcp, PortSpace.Udp, PortSpace.IpoIb];
const CONNECT_REQUEST = 4;
/** In about the order of a connection, so that many get far. */
const COMMANDS = [
  ...(['CREATE_ID', 'BIND_IP', 'LISTEN', 'RESOLVE_IP', 'RESOLVE_ROUTE', 'CONNECT', 'GET_EVENT', 'ACCEPT'] as const),
  ...(['DISCONNECT', 'REJECT', 'DESTROY_ID', 'MIGRATE_ID', 'JOIN_IP_MCAST', 'LEAVE_MCAST', 'INIT_QP_ATTR'] as const),
  ...(['NOTIFY', 'QUERY_ROUTE', 'SET_OPTION'] as const),
];

const step = fc.record({
  command: fc.constantFrom(...COMMANDS, ...(['CREATE_ID', 'GET_EVENT', 'connection', 'connection', 'time'] as const)),
  who: fc.nat(2),
  id: fc.nat(15),
  number: fc.nat(255),
  address: fc.nat(ADDRESSES.length - 1),
  space: fc.nat(SPACES.length - 1),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The ids that commands have made or events have named, for each program, and one that nobody has. */
type Ids = readonly number[][];

function send(
  programs: readonly CmProgram[],
  ids: Ids,
  { command, who, id: which, number, address, space }: Step,
): void {
  const program = programs[who] as CmProgram;
  // The ids of another one now and then: the first two have the same server.
  const own = ids[number % 8 === 7 ? number % 3 : who] ?? [];
  const id = own[which % Math.max(1, own.length)] ?? 99;
  const to = sockaddr(ADDRESSES[address] ?? '', PORTS[space % 2] ?? 0);
  const conn_param = fill(C.CONN_PARAM, { qp_num: number, valid: number % 4 === 0 ? 0 : 1, retry_count: 1 });
  const uid = 1 + (number % 7);
  const of = programs[number % programs.length]?.number ?? 0;
  const commands: Partial<Record<Step['command'], () => number>> = {
    CREATE_ID: () => ids[who]?.push(program.createId(uid, SPACES[space])) ?? 0,
    GET_EVENT: () => {
      const event = program.event();
      if (event?.event === CONNECT_REQUEST) ids[who]?.push(event.id);
      return 0;
    },
    BIND_IP: () => program.errno('BIND_IP', C.BIND_IP, { id, addr: to }),
    LISTEN: () => program.errno('LISTEN', C.LISTEN, { id, backlog: number % 3 }),
    RESOLVE_IP: () => program.errno('RESOLVE_IP', C.RESOLVE_IP, { id, dst_addr: to, timeout_ms: 1 }),
    RESOLVE_ROUTE: () => program.errno('RESOLVE_ROUTE', C.RESOLVE_ROUTE, { id }),
    CONNECT: () => program.errno('CONNECT', C.CONNECT, { id, conn_param }),
    ACCEPT: () => program.errno('ACCEPT', C.ACCEPT, { id, uid, conn_param }),
    DISCONNECT: () => program.errno('DISCONNECT', C.DISCONNECT, { id }),
    REJECT: () => program.errno('REJECT', C.REJECT, { id }),
    DESTROY_ID: () => program.errno('DESTROY_ID', C.DESTROY_ID, { id }),
    MIGRATE_ID: () => program.errno('MIGRATE_ID', C.MIGRATE_ID, { id, fd: of }),
    JOIN_IP_MCAST: () => program.errno('JOIN_IP_MCAST', C.JOIN_IP_MCAST, { id, uid, addr: to }),
    LEAVE_MCAST: () => program.errno('LEAVE_MCAST', C.DESTROY_ID, { id }),
    INIT_QP_ATTR: () => program.errno('INIT_QP_ATTR', C.INIT_QP_ATTR, { id, qp_state: number % 5 }),
    NOTIFY: () => program.errno('NOTIFY', C.NOTIFY, { id, event: 4 }),
    QUERY_ROUTE: () => program.errno('QUERY_ROUTE', C.CM_QUERY, { id }),
    SET_OPTION: () => program.errno('SET_OPTION', C.SET_OPTION, { id, optname: number % 4, optlen: 4 }),
  };
  expect(commands[command]?.() ?? 0).toBeGreaterThanOrEqual(0);
}

/** The request of a client for a server on the other device, or on its own; what is read of it is up to others. */
async function connect(
  programs: readonly CmProgram[],
  ids: Ids,
  one: Step,
  pass: (ns: number) => Promise<void>,
): Promise<void> {
  const server = one.number % 3;
  const client = (one.id + 1) % 3;
  const address = server === 2 ? 1 : 0;
  const space = one.number % 2 === 0 ? 0 : 2;
  const last = (who: number): number => (ids[who]?.length ?? 1) - 1;
  for (const command of ['CREATE_ID', 'BIND_IP', 'LISTEN'] as const)
    send(programs, ids, { command, who: server, id: last(server), number: 0, address, space });
  for (const command of ['CREATE_ID', 'RESOLVE_IP', 'RESOLVE_ROUTE', 'CONNECT'] as const) {
    send(programs, ids, { command, who: client, id: last(client), number: 1, address, space });
    await pass(1e8);
  }
  for (let events = 0; events < 3; events++) send(programs, ids, { ...one, command: 'GET_EVENT', who: server });
  if (one.number % 4 < 2) return;
  send(programs, ids, { ...one, command: 'ACCEPT', who: server, id: last(server), number: 1 });
  await pass(1e8);
  send(programs, ids, { ...one, command: 'ACCEPT', who: client, id: last(client), number: 0 });
}

describe('clients of rdma_cm that send any command at any time', () => {
  it('get an errno each, and leave nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 40 }), async (steps) => {
        const pair = await makeEnds();
        const { world, left, right } = pair;
        const [first, second] = [createUverbsServer(left.device), createUverbsServer(right.device)];
        const programs = [new CmProgram(first), new CmProgram(first), new CmProgram(second)];
        const pass = async (ns: number): Promise<void> => {
          world.runFor(ns);
          await world.run(Promise.resolve());
        };
        const ids: Ids = [[99], [99], [99]];
        for (const one of steps) {
          if (one.command === 'time') await pass(10 ** (one.number % 11));
          else if (one.command === 'connection') await connect(programs, ids, one, pass);
          else send(programs, ids, one);
        }
        for (const { file } of programs) file.close();
        expect([left.device.counters.internalErrors, right.device.counters.internalErrors]).toEqual([0, 0]);
        await pass(600e9);
        await expectEmpty(pair);
        for (const { device } of [left, right])
          expect(device.tables()).toMatchObject({
            ...{ connections: 0, connectionEntries: 0, heldQueuePairNumbers: 0, listeners: 0, waitingMads: 0 },
          });
      }),
      { numRuns: fcRuns(60) },
    );
  });

  it('leave no more events unread than a file may have ids', async () => {
    const pair = await makeEnds();
    const program = new CmProgram(createUverbsServer(pair.left.device));
    const id = program.createId(1);
    // Nothing leads there, which is known at once.
    const values = { id, dst_addr: sockaddr('127.0.0.1', 1), timeout_ms: 1 };
    let errno = 0;
    for (let times = 0; errno === 0 && times < 70_000; times++) {
      errno = program.errno('RESOLVE_IP', C.RESOLVE_IP, values);
      await Promise.resolve();
    }
    expect([errno, program.ready]).toEqual([Errno.ENOMEM, 65_536]);
    expect(program.event()).toMatchObject({ event: 1, status: -Errno.ENODEV });
    expect(program.errno('RESOLVE_IP', C.RESOLVE_IP, values)).toBe(0);
    program.file.close();
    await expectEmpty(pair);
  });
});
