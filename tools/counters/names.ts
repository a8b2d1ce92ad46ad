/** From the name of a counter to what it counts. Owns the index over the tables. */
import type { CounterName } from './counter-name.ts';
import { PORT_NAMES } from './names-port.ts';
import { RDMA_NAMES } from './names-rdma.ts';

/** A counter that is known, and the priority that its name has. */
export interface KnownCounter {
  readonly row: CounterName;
  readonly priority: number | undefined;
}

/** All rows. Of two drivers with the same name the first is taken, which counts the same. */
export const ALL_NAMES: readonly CounterName[] = [...RDMA_NAMES, ...PORT_NAMES];

/** What the tables know of a name, in whatever case it is written; undefined for nothing. */
export function counterOf(name: string): KnownCounter | undefined {
  return INDEX.get(plainName(name));
}

/** A name without what tools change in it: case, blanks, the prefix of virtual ports of mlx5. */
export function plainName(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/\s+/g, '_')
    .replace(/^vport_(?!loopback)/, '');
}

function makeIndex(): ReadonlyMap<string, KnownCounter> {
  const index = new Map<string, KnownCounter>();
  for (const row of ALL_NAMES) {
    const priorities = row.name.includes('{p}') ? [0, 1, 2, 3, 4, 5, 6, 7] : [undefined];
    for (const priority of priorities) {
      const name = plainName(row.name.replace('{p}', `${priority}`));
      if (!index.has(name)) index.set(name, { row, priority });
    }
  }
  return index;
}

const INDEX = makeIndex();
