/** A capture of any size for benches: READs and WRITEs of one connection, a packet lost now and then. */
import { Op } from 'rocev2/packets';
import { play } from '../symptoms/scene.ts';

/** A pcapng file of about 100 kB for each round. */
export function transfersCapture(rounds: number, seed = 1): Promise<Uint8Array> {
  return play({ seed, vantages: ['B'] }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12, cm: true });
    for (let nth = 50; nth < 40 * rounds; nth += 500) {
      stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth, action: 'drop' });
    }
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 3; i++) await a.write(b, 20_000);
      for (let i = 0; i < 2; i++) await a.read(b, 16_000);
    }
  });
}
