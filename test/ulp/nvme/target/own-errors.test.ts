/** Goal: an error of the target's own ends a queue and is told; it ends neither the process nor another host. */
import { afterEach, expect, it, vi } from 'vitest';
import { InvariantError } from '../../../../packets/errors.ts';
import {
  FABRICS_OPCODE,
  FabricsType,
  NvmeStatus,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  STATUS_DNR,
} from '../../../../src/ulp/nvme/index.ts';
import { connectAdmin, connectHost, ScriptedQueue } from './support.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it.each([
  ['a command that a disk has done', NvmOpcode.Flush],
  ['a command that is refused at once', 0xee],
])('an error with the answer to %s ends that queue only', async (_, opcode) => {
  const told: unknown[] = [];
  const observer = {
    queueJoined: (): void => {},
    queueClosed: (): void => {},
    failed: (error: unknown) => told.push(error),
  };
  const host = await connectHost({ observer });
  const { io, admin, target, world } = host;
  const [, queue] = target.queues;
  const planted = new InvariantError('planted');
  if (queue !== undefined)
    vi.spyOn(queue.qp, 'postSend').mockImplementationOnce(() => {
      throw planted;
    });
  io.post(io.command(opcode, 1));
  expect(await io.answer()).toBeUndefined();
  await world.run(io.connection.closed);
  expect(told).toEqual([planted]);
  expect(target.queues).toHaveLength(1);
  expect(await admin.property(PropertyOffset.Csts)).toBe(1);
  const again = await ScriptedQueue.open(host, 1);
  expect((await again.connect({ qid: 1 }, { cntlid: 1 })).status).toBe(0);
});

it('an error with a request for a queue refuses that request only', async () => {
  const told: unknown[] = [];
  const observer = {
    queueJoined: (): void => {},
    queueClosed: (): void => {},
    failed: (error: unknown) => told.push(error),
  };
  const host = await connectHost({ observer });
  vi.spyOn(host.b, 'createCq').mockImplementationOnce(() => {
    throw new InvariantError('planted');
  });
  await expect(ScriptedQueue.open(host, 0)).rejects.toThrow(/rejected/);
  expect(told).toHaveLength(1);
  await connectAdmin(host);
});

it.each([FabricsType.PropertyGet, FabricsType.PropertySet])(
  'a property is not for an I/O queue (type %i)',
  async (type) => {
    const { io, admin } = await connectHost();
    const command = io.command(FABRICS_OPCODE, type);
    command.setArguments(PROPERTY, { offset: PropertyOffset.Cc, value: 0n });
    expect((await io.send(command)).status).toBe(NvmeStatus.InvalidOpcode | STATUS_DNR);
    expect(await admin.property(PropertyOffset.Csts)).toBe(1);
  },
);
