/** The programs of hosts of kind "stack", by name. A new one is an entry here. */
import { atomicWrite } from './atomic-write.ts';
import { badAdvertiser } from './bad-advertiser.ts';
import { badReader } from './bad-reader.ts';
import { cmtime } from './cmtime.ts';
import { deafServer } from './deaf-server.ts';
import { lateReceiver } from './late-receiver.ts';
import { mckey } from './mckey.ts';
import { perfPrograms } from './perf.ts';
import { pingpongs } from './pingpong.ts';
import type { Program } from './program.ts';
import { rdmaXclient, rdmaXserver } from './rdma-xpair.ts';
import { rsocketPrograms } from './rsockets.ts';
import { rdmaClient, rdmaServer, rping, ucmatose } from './stock.ts';
import { twoSends } from './two-sends.ts';
import { udaddy } from './udaddy.ts';

export type { Program, ProgramContext } from './program.ts';

export const PROGRAMS: readonly Program[] = [
  rping,
  ucmatose,
  rdmaServer,
  rdmaClient,
  rdmaXserver,
  rdmaXclient,
  udaddy,
  mckey,
  cmtime,
  ...pingpongs,
  atomicWrite,
  badReader,
  badAdvertiser,
  twoSends,
  deafServer,
  lateReceiver,
  ...rsocketPrograms,
  ...perfPrograms,
];

export function findProgram(wanted: string): Program | undefined {
  return PROGRAMS.find(({ name }) => name === wanted);
}
