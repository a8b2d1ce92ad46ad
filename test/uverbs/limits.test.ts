/**
 * Goal: what one client can make and leave unread is bounded, and bounds do not make it wait for what never comes.
 * Method: the program of support/, with a host that takes few events.
 */
import { describe, expect, it } from 'vitest';
import * as C from '../../src/uverbs/abi/cm.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { CmProgram, PortSpace, sockaddr } from './support/cm-program.ts';
import { expectEmpty, makeEnds, rdma, toRts } from './support/ends.ts';
import { Program, pick } from './support/program.ts';

/** Of one file, and what one command takes is far below a kilobyte. */
const MOST_OBJECTS = 65_536;

describe('a client that reads no events', () => {
  it('is not told of more events than it can read, when it destroys the queue', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right, world } = pair;
    left.program.host.roomForEvents = 2;
    for (let round = 0; round < 3; round++) {
      await left.program.ok('REQ_NOTIFY_CQ', V.REQ_NOTIFY_CQ, { cq_handle: left.cq.handle });
      left.program.post(left.qp, { opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
      world.runFor(1e7);
    }
    expect(left.program.readEvent(left.channel)).toBeDefined();
    await left.program.ok('DESTROY_QP', V.DESTROY_CQ, { cq_handle: left.qp.handle });
    const destroyed = await left.program.ok('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: left.cq.handle });
    expect(pick(V.DESTROY_CQ_RESP, destroyed, 'comp_events_reported')).toBe(1);
    await expectEmpty(pair);
  });
});

describe('a client that makes objects without an end', () => {
  it('was told of no more regions and windows than a file may have objects', async () => {
    const { program } = (await makeEnds()).left;
    const facts = await program.ok('QUERY_DEVICE', V.QUERY_DEVICE, {});
    const told = (['max_mr', 'max_mw'] as const).map((name) => pick(V.QUERY_DEVICE_RESP, facts, name));
    expect(told).toEqual([MOST_OBJECTS, MOST_OBJECTS]);
  });

  it('gets ENOMEM, and room again when it destroys one', async () => {
    const pair = await makeEnds();
    const { program } = pair.left;
    let made = 0;
    let handle = 0;
    for (; made <= MOST_OBJECTS; made++) {
      const { errno, response } = await program.send('ALLOC_PD', V.ALLOC_PD, {});
      if (errno !== 0) {
        expect(errno).toBe(Errno.ENOMEM);
        break;
      }
      handle = pick(V.ALLOC_PD_RESP, response, 'pd_handle');
    }
    expect(made).toBeLessThan(MOST_OBJECTS);
    expect(await program.errno('CREATE_COMP_CHANNEL', V.CREATE_COMP_CHANNEL, {})).toBe(Errno.ENOMEM);
    await program.ok('DEALLOC_PD', V.DEALLOC_PD, { pd_handle: handle });
    await program.ok('CREATE_COMP_CHANNEL', V.CREATE_COMP_CHANNEL, {});
    await expectEmpty(pair);
  });

  it('gets room again for a channel when it closes one', async () => {
    const pair = await makeEnds();
    const { program, channel: async } = pair.left;
    for (let made = 0; made <= MOST_OBJECTS; made++) program.file.channelClosed(await program.createChannel());
    // That of asynchronous events stays, and one that is gone is no other's.
    program.file.channelClosed(program.asyncChannel);
    const gone = await program.createChannel();
    for (let times = 0; times < 2; times++) program.file.channelClosed(gone);
    expect([...program.host.events.keys()]).toEqual([program.asyncChannel, async]);
    const values = { cqe: 1, comp_channel: gone };
    expect(await program.errno('CREATE_CQ', V.CREATE_CQ, values, new Uint8Array(0), 16)).toBe(Errno.EBADF);
    await expectEmpty(pair);
  });

  it('and every refusal is counted, of doorbells and of rdma_cm too', async () => {
    const { device } = (await makeEnds()).left;
    const server = createUverbsServer(device);
    const program = new Program(server);
    const cm = new CmProgram(server);
    expect(cm.errno('CREATE_ID', C.CREATE_ID, { uid: 1, ps: 0x106 })).toBe(0);
    expect(server.refused).toBe(0);
    expect(await program.errno('ALLOC_PD', V.ALLOC_PD, {})).toBe(Errno.EINVAL);
    expect(server.refused).toBe(1);
    program.file.doorbell(77);
    expect(server.refused).toBe(2);
    expect(cm.errno('CREATE_ID', C.CREATE_ID, { uid: 1, ps: 0x999 })).not.toBe(0);
    expect(server.refused).toBe(3);
    expect(await program.errno('ALLOC_PD', V.ALLOC_PD, {})).toBe(Errno.EINVAL);
    const unknown = [
      Uint8Array.of(),
      Uint8Array.of(200, 0, 0, 0, 2, 0, 0, 0),
      Uint8Array.of(99, 0, 0, 128, 2, 0, 0, 0),
    ];
    for (const bytes of unknown) await program.file.command(bytes);
    for (const bytes of [Uint8Array.of(), Uint8Array.of(99, 0, 0, 0, 0, 0, 0, 0)]) await cm.file.command(bytes);
    expect(Object.fromEntries(server.refusals)).toEqual({
      'ALLOC_PD EINVAL': 2,
      'doorbell EINVAL': 1,
      'rdma_cm: CREATE_ID EINVAL': 1,
      'a command that is too short EINVAL': 1,
      'command 200 EOPNOTSUPP': 1,
      'extended command 99 EOPNOTSUPP': 1,
      'rdma_cm: a command that is too short EINVAL': 1,
      'rdma_cm: an unknown command EINVAL': 1,
    });
  });

  it('of rdma_cm as well', async () => {
    const pair = await makeEnds();
    const program = new CmProgram(createUverbsServer(pair.left.device));
    let made = 0;
    while (made <= MOST_OBJECTS && program.errno('CREATE_ID', C.CREATE_ID, { uid: 1, ps: 0x106 }) === 0) made++;
    expect(made).toBe(MOST_OBJECTS);
    expect(program.errno('CREATE_ID', C.CREATE_ID, { uid: 1, ps: 0x106 })).toBe(Errno.ENOMEM);
    program.file.close();
    await expectEmpty(pair);
  });
});

describe('the ports that an id without one may get', () => {
  it('are all of them, and none of another id', async () => {
    const pair = await makeEnds();
    const program = new CmProgram(createUverbsServer(pair.left.device));
    const bind = (port: number, space = PortSpace.Tcp): number => {
      const id = program.createId(1, space);
      return program.errno('BIND_IP', C.BIND_IP, { id, addr: sockaddr('10.0.0.1', port) });
    };
    for (let port = 0xc0_00; port < 2 ** 16; port++) if (port !== 50_000) expect(bind(port)).toBe(0);
    expect([bind(0), bind(50_000), bind(0)]).toEqual([0, Errno.EADDRINUSE, Errno.EADDRNOTAVAIL]);
    expect(bind(0, PortSpace.Udp)).toBe(0);
    program.file.close();
    await expectEmpty(pair);
  });
});
