/**
 * How much a device holds: the sizes of all its tables, so that a program, a soak or a test sees that what was made is
 * gone again. Owns the type and the sum.
 */

/**
 * Entries in the tables of a device. When everything was destroyed and TIMEWAIT is over (67 ms to 4.3 s for
 * connections, 60 s for TCP), each is 0 but `neighbours`.
 */
export interface DeviceTables {
  /** Queue pairs. */
  readonly queuePairs: number;
  /** Completion queues that were not destroyed. */
  readonly completionQueues: number;
  /** Shared receive queues. */
  readonly sharedReceiveQueues: number;
  /** Memory regions, fast registration included. */
  readonly memoryRegions: number;
  /** Memory windows, bound or not. */
  readonly memoryWindows: number;
  /** Keys that open memory: one for each region and each bound window. */
  readonly keys: number;
  /** Connections in any state, TIMEWAIT included; lookups of datagram services and remembered answers. */
  readonly connections: number;
  /** What refers to connections beside that: ids of peers, promises, deadlines, shares in a backlog. */
  readonly connectionEntries: number;
  /** Queue pair numbers that no new queue pair gets: those of connections, TIMEWAIT included. */
  readonly heldQueuePairNumbers: number;
  /** Ports that are listened on: connections, datagram services, TCP. */
  readonly listeners: number;
  /** Next hops that queue pairs and address handles send to. */
  readonly nextHops: number;
  /** Addresses that are being resolved. */
  readonly resolutions: number;
  /** Neighbours that are known; they stay, up to `StrangerLimits.maxNeighbours`. Static ones are not counted. */
  readonly neighbours: number;
  /** TCP connections, TIME-WAIT included. */
  readonly tcpConnections: number;
  /** Multicast groups that the device is in. */
  readonly groups: number;
  /** Timers of queue pairs. */
  readonly timers: number;
  /** MADs that wait to be sent. */
  readonly waitingMads: number;
}

/** The parts of a device that have tables, beside its resources and its timers. */
export interface TableParts {
  readonly paths: { readonly sizes: Pick<DeviceTables, 'nextHops' | 'resolutions' | 'neighbours'> };
  readonly cm: {
    readonly sizes: Pick<DeviceTables, 'connections' | 'connectionEntries' | 'heldQueuePairNumbers'>;
    readonly listeners: number;
  };
  readonly tcp: { readonly size: number; readonly listeners: number } | undefined;
  readonly multicast: { readonly size: number };
  readonly gsi: { readonly waiting: number };
}

/** Sizes of the resources of a device. */
type ResourceSizes = Pick<
  DeviceTables,
  'queuePairs' | 'completionQueues' | 'sharedReceiveQueues' | 'memoryRegions' | 'memoryWindows' | 'keys'
>;

/** Counted at the call. */
export function tablesOf(
  { paths, cm, tcp, multicast, gsi }: TableParts,
  resources: { readonly sizes: ResourceSizes },
  { timers }: { readonly timers: number },
): DeviceTables {
  return {
    ...resources.sizes,
    ...paths.sizes,
    ...cm.sizes,
    listeners: cm.listeners + (tcp?.listeners ?? 0),
    tcpConnections: tcp?.size ?? 0,
    groups: multicast.size,
    timers,
    waitingMads: gsi.waiting,
  };
}
