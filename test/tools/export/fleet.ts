/**
 * Captures of a few hosts for the tests of `roce export`: two of them of one connection, taken at both of its ends, one
 * that lacks packets; and what the analyzer says of each.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { Op } from '../../../packets/index.ts';
import { type Analysis, LinkType, PcapngWriter, readCapture } from '../../../pcap/index.ts';
import { Prng } from '../../../src/sim/index.ts';
import { analyzeChunks } from '../../../tools/analyze/index.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { chunksOf } from '../../support/sink.ts';

/** A capture file of a host. */
export interface Member {
  readonly host: string;
  /** Its path. */
  readonly file: string;
  readonly bytes: Uint8Array;
  /** What the analyzer says. */
  readonly analysis: Analysis;
}

/** Scenes that have what the questions are about. */
const SCENES = [
  'rnr-exceeded-three-retries',
  'ecn-works',
  'retry-exceeded-loss-bursts',
  'remote-access-wrong-key',
  'icrc-invalid-damage',
  'icrc-invalid-cut',
  'implied-nak-after-timeout',
  'sequence-error-loss-at-both',
  'vlan-mismatch-ids',
  'no-reply-wrong-qpn-ipv6',
];
const VECTORS = ['rxe-6.12.pcap', 'rxe-sample.pcap'];

/** Writes the captures as FOLDER/HOST/roce.pcapng. */
export async function makeFleet(folder: string): Promise<Member[]> {
  const files: [string, Uint8Array][] = [
    ['A', await bothWays('A')],
    ['B', await bothWays('B')],
    ['lacking', lacking(await bothWays('A'))],
  ];
  for (const name of SCENES) {
    const scene = allScenes().find((each) => each.name === name);
    if (scene === undefined) throw new Error(`there is no scene ${name}`);
    files.push([name, await scene.make()]);
  }
  for (const name of VECTORS)
    files.push([name, readFileSync(fileURLToPath(new URL(`../../vectors/${name}`, import.meta.url)))]);
  return await Promise.all(
    files.map(async ([host, bytes]) => {
      mkdirSync(join(folder, host), { recursive: true });
      const file = join(folder, host, 'roce.pcapng');
      writeFileSync(file, bytes);
      const { analysis } = await analyzeChunks(chunksOf(bytes));
      return { host, file, bytes, analysis };
    }),
  );
}

/** Packets that the network loses in `bothWays`, each way. */
export const LOST = { fromA: 3, fromB: 2 };

/** Two hosts that write to each other, as one of them captures it: the same packets each time. */
export function bothWays(vantage: 'A' | 'B'): Promise<Uint8Array> {
  return play({ seed: 7, vantages: [vantage] }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
    const drop = (port: string, nths: readonly number[]): void => {
      for (const nth of nths)
        stage.rule({ port, match: ({ opcode }) => opcode === Op.WriteMiddle, nth, action: 'drop' });
    };
    drop('A', [4, 50, 90]);
    drop('B', [10, 60]);
    for (let round = 0; round < 10; round++) {
      await Promise.all([a.write(b, 20_000), b.write(a, 20_000)]);
      if (round % 3 === 0) await a.read(b, 8_000);
    }
  });
}

/** The same capture as a host would have it that drops one packet in 20. */
function lacking(bytes: Uint8Array): Uint8Array {
  const random = new Prng(1);
  const writer = new PcapngWriter();
  writer.addInterface({ name: 'eth0', linkType: LinkType.Ethernet });
  for (const { bytes: frame, seconds, nanoseconds } of readCapture(bytes))
    if (random.below(20) > 0) writer.packet(0, frame, 0, frame.length, seconds, nanoseconds);
  return writer.take();
}

/** The rows of a table, as another library reads them. */
export async function rowsOf(out: string, table: string, capture: string): Promise<Record<string, unknown>[]> {
  return await parquetReadObjects({ file: await asyncBufferFromFile(join(out, table, `${capture}.parquet`)) });
}
