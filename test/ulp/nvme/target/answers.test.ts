/** What a queue posts, and in which order: answers that are ready together leave together. */
import { expect, it } from 'vitest';
import type { RdmaQp, SendWr } from '../../../../src/index.ts';
import { WrOpcode } from '../../../../src/index.ts';
import { type Answer, AnswerSender } from '../../../../src/ulp/nvme/target/answers.ts';
import type { DataMemory } from '../../../../src/ulp/nvme/target/data-memory.ts';
import { Task } from '../../../../src/ulp/nvme/target/task.ts';
import { makePair } from '../../../device/support.ts';

const pd = makePair().a.allocPd();
const NAMES = new Map<number, string>([
  [WrOpcode.RdmaWrite, 'write'],
  [WrOpcode.RdmaRead, 'read'],
  [WrOpcode.Send, 'send'],
  [WrOpcode.SendWithInv, 'send-inv'],
]);

function rig(room: number) {
  const posted: string[] = [];
  const returned: DataMemory[] = [];
  /** Memory from byte `offset` of a region on. */
  const memoryOf = (bytes: number, offset = 0): DataMemory => {
    const memory = { region: pd.regMr(offset + bytes), offset, giveBack: () => void returned.push(memory) };
    return memory;
  };
  const qp = {
    postSend({ opcode, signaled = true, sges, inline, invalidateRkey }: SendWr): void {
      const what = NAMES.get(opcode) ?? '?';
      // The identifier of the command is at 12 in a response.
      const [{ length = 0, offset = 0 } = {}] = sges ?? [];
      const place = offset === 0 ? `${length}` : `${length} from ${offset}`;
      const which = inline === undefined ? place : (inline[12] ?? 0);
      posted.push(
        `${what} ${which}${invalidateRkey === undefined ? '' : ` key ${invalidateRkey}`}${signaled ? ' !' : ''}`,
      );
    },
  } as unknown as RdmaQp;
  // The slot takes another command as soon as its answer leaves.
  const leaves = ({ task: { slot, command } }: Answer): number => {
    command.cid = 0xff;
    command.sgl.setKeyed(0n, 1, 0xff, !command.sgl.invalidates);
    return slot;
  };
  const sender = new AnswerSender({ qp, leaves }, room);
  const answer = (cid: number, bytes = 0, key = -1, offset = 0): Answer => {
    const task = new Task(cid);
    task.command.cid = cid;
    task.command.sgl.setKeyed(0n, bytes, Math.max(0, key), key >= 0);
    const memory = bytes === 0 ? undefined : memoryOf(bytes, offset);
    return { task, status: 0, dw0: 0, dw1: 0, bytes, memory, conflict: false };
  };
  const take = (): string[] => posted.splice(0);
  return { sender, answer, take, returned, memoryOf };
}

it('writes the data of all that is ready first, then responds, and asks for one completion', () => {
  const { sender, answer, take } = rig(64);
  for (const each of [answer(1, 4096), answer(2), answer(3, 512, 7)]) sender.add(each);
  expect(take()).toEqual([]);
  sender.flush();
  expect(take()).toEqual(['write 4096', 'write 512', 'send 1', 'send 2', 'send-inv 3 key 7 !']);
});

it('writes and fetches from where the data of a command begins in its memory', () => {
  const { sender, answer, take, memoryOf } = rig(64);
  sender.add(answer(1, 512, -1, 4096));
  sender.flush();
  const task = new Task(2);
  task.memory = memoryOf(512, 1024);
  task.data = task.memory.region.bytes.subarray(1024);
  sender.read(task);
  expect(take()).toEqual(['write 512 from 4096', 'send 1 !', 'read 512 from 1024 !']);
});

it('lets no small answer wait for the data of large ones', () => {
  const { sender, answer, take } = rig(64);
  for (const each of [answer(1, 4096), answer(2, 0x1_00_00), answer(3, 4096)]) sender.add(each);
  sender.flush();
  expect(take()).toEqual(['write 4096', 'send 1 !', 'write 65536', 'send 2 !', 'write 4096', 'send 3 !']);
});

it('posts no more than the send queue takes, and the rest when responses are acknowledged', () => {
  const { sender, answer, take, returned } = rig(4);
  const answers = [1, 2, 3].map((cid) => answer(cid, 512));
  for (const each of answers) sender.add(each);
  sender.flush();
  expect(take()).toEqual(['write 512', 'write 512', 'send 1', 'send 2 !']);
  sender.flush();
  expect([take(), returned]).toEqual([[], []]);
  sender.acknowledged();
  expect(returned).toEqual([answers[0]?.memory, answers[1]?.memory]);
  sender.flush();
  expect(take()).toEqual(['write 512', 'send 3 !']);
});

it('counts what was posted: room comes back for it and for nothing else', () => {
  const { sender, answer, take } = rig(3);
  for (const cid of [1, 2, 3]) sender.add(answer(cid));
  sender.flush();
  // A response needs one place, and might need two.
  expect(take()).toEqual(['send 1 !', 'send 2 !']);
  sender.acknowledged();
  sender.flush();
  expect(take()).toEqual(['send 3 !']);
  sender.acknowledged();
  sender.acknowledged();
  sender.acknowledged();
  for (const cid of [4, 5, 6, 7]) sender.add(answer(cid, 512));
  sender.flush();
  expect(take()).toEqual(['write 512', 'send 4 !']);
});

it('fetches data when there is room, before it answers others', () => {
  const { sender, answer, take, memoryOf } = rig(4);
  const task = new Task(9);
  task.memory = memoryOf(512);
  task.data = task.memory.region.bytes;
  for (let i = 0; i < 4; i++) sender.read(task);
  expect(take()).toEqual(['read 512 !', 'read 512 !', 'read 512 !']);
  sender.add(answer(1));
  sender.flush();
  expect(take()).toEqual([]);
  sender.readEnded();
  sender.flush();
  expect(take()).toEqual(['read 512 !']);
  sender.readEnded();
  sender.flush();
  expect(take()).toEqual(['send 1 !']);
});

it('gives all memory back when it is closed, and posts nothing any more', () => {
  const { sender, answer, take, returned } = rig(2);
  const answers = [1, 2].map((cid) => answer(cid, 512));
  for (const each of answers) sender.add(each);
  sender.flush();
  take();
  sender.close();
  expect(returned).toEqual(answers.map(({ memory }) => memory));
  sender.acknowledged();
  sender.flush();
  expect([take(), returned.length]).toEqual([[], 2]);
});
