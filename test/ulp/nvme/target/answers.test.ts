/** What a queue posts, and in which order: answers that are ready together leave together. */
import { expect, it } from 'vitest';
import type { RdmaQp, SendWr } from '../../../../src/index.ts';
import { type MemoryRegion, WrOpcode } from '../../../../src/index.ts';
import { type Answer, AnswerSender } from '../../../../src/ulp/nvme/target/answers.ts';
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
  const returned: MemoryRegion[] = [];
  const qp = {
    postSend({ opcode, signaled = true, sges, inline, invalidateRkey }: SendWr): void {
      const what = NAMES.get(opcode) ?? '?';
      // The identifier of the command is at 12 in a response.
      const which = inline === undefined ? (sges?.[0]?.length ?? 0) : (inline[12] ?? 0);
      posted.push(
        `${what} ${which}${invalidateRkey === undefined ? '' : ` key ${invalidateRkey}`}${signaled ? ' !' : ''}`,
      );
    },
  } as unknown as RdmaQp;
  const sender = new AnswerSender(
    { qp, leaves: ({ task }) => task.slot, giveBack: (region) => void returned.push(region) },
    room,
  );
  const answer = (cid: number, bytes = 0, key = -1): Answer => {
    const task = new Task(cid);
    task.command.cid = cid;
    task.command.sgl.setKeyed(0n, bytes, Math.max(0, key), key >= 0);
    const region = bytes === 0 ? undefined : pd.regMr(bytes);
    return { task, status: 0, dw0: 0, dw1: 0, bytes, region, conflict: false };
  };
  const take = (): string[] => posted.splice(0);
  return { sender, answer, take, returned };
}

it('writes the data of all that is ready first, then responds, and asks for one completion', () => {
  const { sender, answer, take } = rig(64);
  for (const each of [answer(1, 4096), answer(2), answer(3, 512, 7)]) sender.add(each);
  expect(take()).toEqual([]);
  sender.flush();
  expect(take()).toEqual(['write 4096', 'write 512', 'send 1', 'send 2', 'send-inv 3 key 7 !']);
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
  expect(returned).toEqual([answers[0]?.region, answers[1]?.region]);
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
  const { sender, answer, take } = rig(4);
  const task = new Task(9);
  task.region = pd.regMr(512);
  task.data = task.region.bytes;
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
  expect(returned).toEqual(answers.map(({ region }) => region));
  sender.acknowledged();
  sender.flush();
  expect([take(), returned.length]).toEqual([[], 2]);
});
