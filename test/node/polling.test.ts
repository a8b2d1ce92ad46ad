/**
 * Goal: a device does the same however it waits for frames, in the application's thread and in a worker. Method: SENDs
 * to and fro between two devices over shared memory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type OpenRdmaDevice, openDevice, QpState, WcOpcode, WcStatus, WrOpcode } from '../../src/index.ts';
import { describeWith } from '../support/need.ts';
import { ALL, freshPort, makeSide, openPlaced, PLACEMENTS, type Side, THEIRS } from './worker/support.ts';

const ROUNDS = 200;
const BYTES = 64;

async function connected(one: OpenRdmaDevice, other: OpenRdmaDevice): Promise<readonly [Side, Side]> {
  const [client, server] = [makeSide(one.device), makeSide(other.device)];
  const port = freshPort();
  const listener = other.device.cm.listen(port);
  for (const side of [client, server]) {
    await side.qp.modify({ state: QpState.Init, access: ALL });
    receive(side);
  }
  const connecting = one.device.cm.connect({ address: THEIRS, port, qp: client.qp });
  const { value: request } = await listener.next();
  await request.accept({ qp: server.qp });
  await connecting;
  listener.close();
  return [client, server];
}

function receive({ qp, mr }: Side): void {
  qp.postRecv({ wrId: 0, sges: [{ mr, offset: 0, length: BYTES }] });
}

/** The next message, as its first byte. */
async function message(side: Side): Promise<number> {
  for (;;) {
    const { value: wc } = await side.cq.next();
    expect(wc.status).toBe(WcStatus.Success);
    if (wc.opcode !== WcOpcode.Recv) continue;
    const said = side.mr.bytes[0] ?? -1;
    receive(side);
    return said;
  }
}

function send({ qp }: Side, value: number): void {
  qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: new Uint8Array(BYTES).fill(value) });
}

describeWith('koffi', 'a device that waits for frames', () => {
  for (const placement of PLACEMENTS) {
    it.each(['event', 'adaptive', 'busy'] as const)(
      `in the thread of the ${placement} by %s carries messages to and fro`,
      async (poll) => {
        const directory = mkdtempSync(join(tmpdir(), 'roce-polling-'));
        const link = `shm:${join(directory, 'wire')}`;
        const one = await openPlaced(placement, { link, addresses: ['10.0.0.1/24'], poll });
        const other = await openDevice({ link: `${link},connect`, addresses: [`${THEIRS}/24`], poll });
        try {
          const [client, server] = await connected(one, other);
          const heard: number[] = [];
          for (let round = 0; round < ROUNDS; round++) {
            send(client, round);
            send(server, (await message(server)) ^ 0xff);
            heard.push(await message(client));
          }
          expect(heard).toEqual(Array.from({ length: ROUNDS }, (_, round) => round ^ 0xff));
        } finally {
          await one.close();
          await other.close();
          rmSync(directory, { recursive: true, force: true });
        }
      },
    );
  }

  it('is told apart from a way of waiting that there is not', async () => {
    const poll = 'sometimes' as never;
    await expect(openDevice({ link: 'qemu:/nowhere', addresses: ['10.0.0.1/24'], poll })).rejects.toMatchObject({
      code: 'ERR_ROCE_ARGUMENT',
      message: 'poll must be event, adaptive or busy, not sometimes',
    });
  });
});
