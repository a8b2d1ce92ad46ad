/**
 * Memory of a process that simulates a fat tree of 1,024 hosts, with a device at each and a flow from each.
 */
import { fileURLToPath } from 'node:url';
import { type Bench, rowFrom } from './bench.ts';
import { outputOf } from './program-output.ts';

/** 300 MB. */
const BUDGET_MEBIBYTES = 300e6 / 2 ** 20;
/** Of each switch of the fat tree; the hosts are a quarter of the cube of it. */
const PORTS = 16;
const FEW_PORTS = 4;

export const fabricHostsBench: Bench = {
  name: 'fabric-hosts',
  title: 'fabric: memory of a fat tree with 1,024 hosts, all of them sending',
  async run({ scale }) {
    // What other benches leave behind is not the fabric's: a process of its own.
    const child = [...process.execArgv, CHILD, String(scale < 1 ? FEW_PORTS : PORTS)];
    const mebibytes = Number(await outputOf(process.execPath, child)) / 1024;
    const goal = { sense: '<=', ratio: 1 } as const;
    return rowFrom(this.name, { unit: 'MiB', peer: 'budget (300 MB)', goal }, [mebibytes], [BUDGET_MEBIBYTES]);
  },
};

/** Beside this file, in the language this file is in. */
const CHILD = fileURLToPath(
  new URL(`fabric-hosts-child.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
);
