/** A capture of many queue pairs at once, for benches: WRITEs and READs of each, packets lost and overtaken. */
import { Op } from 'rocev2/packets';
import { play } from '../symptoms/scene.ts';

/** A pcapng file, captured at the responder; each of `pairs` queue pairs has `rounds` of about 40 packets. */
export function queuePairsCapture(pairs: number, rounds: number, seed = 1): Promise<Uint8Array> {
  return play({ seed, vantages: ['B'] }, async (stage) => {
    const [a, b] = [stage.host('A'), stage.host('B')];
    const all: Awaited<ReturnType<typeof stage.connect>>[] = [];
    for (let pair = 0; pair < pairs; pair++) all.push(await stage.connect(a, b, { timeout: 12, cm: true }));
    const packets = 40 * pairs * rounds;
    for (let nth = 50; nth < packets; nth += 500)
      stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth, action: 'drop' });
    for (let nth = 130; nth < packets; nth += 900)
      stage.rule({
        port: 'A',
        match: ({ opcode }) => opcode === Op.WriteMiddle,
        nth,
        action: 'delay',
        delayNs: 20_000,
      });
    await Promise.all(
      all.map(async ({ a: requester, b: responder }) => {
        for (let round = 0; round < rounds; round++) {
          await requester.write(responder, 20_000);
          await requester.read(responder, 16_000);
        }
      }),
    );
  });
}
