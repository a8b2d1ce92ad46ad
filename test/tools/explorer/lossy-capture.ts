/**
 * A capture with something of everything, for tests of the explorer: made with the real stack, the same bytes each
 * time.
 *
 * At the receiver B: WRITEs of which packets are lost, one that arrives damaged, a READ, a SEND that B is not ready
 * for, marks and CNPs.
 */
import { Op } from '../../../packets/opcode.ts';
import { WcStatus } from '../../../src/index.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { demandStatus } from '../../../tools/symptoms/stage.ts';

/** The capture, a pcapng file. `rounds` makes it longer. */
export function lossyCapture(rounds = 1): Promise<Uint8Array> {
  return play({ vantages: ['B'] }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12, cm: true });
    b.receive(8);
    for (const nth of [9, 31]) {
      stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth, action: 'drop' });
    }
    stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteLast, nth: 3, action: 'corrupt' });
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 4; i++) demandStatus(await a.write(b, 20_000), WcStatus.Success);
      demandStatus(await a.read(b, 9_000), WcStatus.Success);
      demandStatus(await a.fetchAdd(b), WcStatus.Success);
    }
    for (let i = 0; i < 8; i++) demandStatus(await a.send(2_000), WcStatus.Success);
    const late = a.send(100);
    await stage.sleep(300_000);
    b.receive(1);
    demandStatus(await late, WcStatus.Success);
  });
}
