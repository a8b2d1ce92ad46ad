/** All cells of the interop matrix, in the order of INTEROP.md. A program that is new to it is a function here. */
import type { Cell } from '../cell.ts';
import { rdmacmCells } from './rdmacm.ts';

export const CELLS: readonly Cell[] = [...rdmacmCells()];
