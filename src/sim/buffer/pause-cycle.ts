/**
 * Finds a deadlock: a cycle in the wait-for graph.
 *
 * Owns the search only; the caller decides what a node is (a port, a queue, a switch). Not for every packet: it
 * allocates.
 */

/** `from` cannot go on before `to` does. */
export interface PauseWait {
  /** The node that waits. */
  readonly from: number;
  /** The node that it waits for. */
  readonly to: number;
}

/**
 * The nodes of one cycle, each waiting for the next and the last for the first; undefined when there is none. The
 * smallest of its nodes comes first. The same edges give the same cycle in whatever order they come, and repeated ones
 * change nothing.
 */
export function findPauseCycle(waits: readonly PauseWait[]): readonly number[] | undefined {
  const targets = targetsByNode(waits);
  const finished = new Set<number>();
  for (const start of targets.keys()) {
    const cycle = cycleFrom(start, targets, finished);
    if (cycle !== undefined) return fromSmallest(cycle);
  }
  return undefined;
}

/** Depth first, without recursion. A node is finished when nothing behind it leads into a cycle. */
function cycleFrom(
  start: number,
  targets: ReadonlyMap<number, readonly number[]>,
  finished: Set<number>,
): readonly number[] | undefined {
  const path: number[] = [];
  const nextEdge: number[] = [];
  const onPath = new Set<number>();
  const enter = (node: number) => {
    path.push(node);
    nextEdge.push(0);
    onPath.add(node);
  };
  if (!finished.has(start)) enter(start);
  while (path.length > 0) {
    const top = path.length - 1;
    const node = path[top] as number;
    const edge = nextEdge[top] as number;
    const target = targets.get(node)?.[edge];
    if (target === undefined) {
      finished.add(node);
      onPath.delete(node);
      path.pop();
      nextEdge.pop();
    } else if (onPath.has(target)) {
      return path.slice(path.indexOf(target));
    } else {
      nextEdge[top] = edge + 1;
      if (!finished.has(target)) enter(target);
    }
  }
  return undefined;
}

/** Ascending, nodes and their targets alike, so that the order of the edges does not matter. */
function targetsByNode(waits: readonly PauseWait[]): ReadonlyMap<number, readonly number[]> {
  const sorted = [...waits].sort((a, b) => a.from - b.from || a.to - b.to);
  const targets = new Map<number, number[]>();
  for (const { from, to } of sorted) {
    const known = targets.get(from);
    if (known === undefined) targets.set(from, [to]);
    else known.push(to);
  }
  return targets;
}

function fromSmallest(cycle: readonly number[]): readonly number[] {
  const at = cycle.indexOf(Math.min(...cycle));
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}
