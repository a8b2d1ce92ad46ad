/** All cells of the interop matrix, in the order of docs/interop.md. A program that is new to it is a function here. */
import type { InteropCell } from '../cell.ts';
import { perftestCells } from './perftest.ts';
import { rdmacmCells } from './rdmacm.ts';
import { rsocketCells } from './rsockets.ts';
import { serviceCells } from './services.ts';
import { pingpongCells } from './verbs.ts';

export const CELLS: readonly InteropCell[] = [
  ...pingpongCells(),
  ...rdmacmCells(),
  ...serviceCells(),
  ...rsocketCells(),
  ...perftestCells(),
];
