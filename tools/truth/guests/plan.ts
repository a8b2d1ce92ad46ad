/** The runs between guests: what the bump does, and which programs transfer. Owns both lists. */
import type { WireRule } from 'rocev2/faults';
import type { NetworkFaults } from '../judge.ts';
import { type PairRun, SERVER_ADDRESS } from './pair.ts';

/** Programs that transfer. */
type Transfer = Pick<PairRun, 'server' | 'ready' | 'client'>;

/** Runs with the same faults. */
export interface GuestKind {
  readonly name: string;
  readonly rules: readonly WireRule[];
  readonly transfers: readonly Transfer[];
}

/** One run. */
export interface PlannedRun {
  readonly kind: GuestKind;
  readonly transfer: Transfer;
  readonly seed: number;
}

/** 4.096 us * 2^n, 67 ms. */
export const ACK_TIMEOUT = 14;

const CLIENT = '-F -x 1 -t 5';
const TRANSFERS = {
  write: perftest(`ib_write_bw ${CLIENT} -s 16384 -n 40`),
  send: perftest(`ib_send_bw ${CLIENT} -s 16384 -n 40`),
  read: perftest(`ib_read_bw ${CLIENT} -s 4096 -n 120`),
  /** The server READs and WRITEs what the client announces. */
  rping: rping(),
  /** ECN-capable. */
  marked: perftest(`ib_write_bw ${CLIENT} -s 16384 -n 40 --tclass=2`),
  markedSend: perftest(`ib_send_bw ${CLIENT} -s 16384 -n 40 --tclass=2`),
  markedRead: perftest(`ib_read_bw ${CLIENT} -s 4096 -n 120 --tclass=2`),
} as const;

const REQUESTS = ['write', 'send', 'read-request'];
const ON_REQUESTS: readonly Transfer[] = [TRANSFERS.write, TRANSFERS.send, TRANSFERS.rping];
const ON_RESPONSES: readonly Transfer[] = [TRANSFERS.read, TRANSFERS.rping, TRANSFERS.read];
const ANSWERS: ReadonlySet<string> = new Set(['ack', 'read-response']);
const ALL = ['write', 'send', 'read-request', 'read-response', 'ack'];

/** Round trips take about a millisecond between emulated guests. */
export const GUEST_KINDS: readonly GuestKind[] = [
  { name: '2 % of requests dropped', transfers: ON_REQUESTS, rules: [chance('drop', 0.02)] },
  { name: '2 % behind the next three', transfers: ON_REQUESTS, rules: [{ ...chance('reorder', 0.02), behind: 3 }] },
  {
    name: '1 % delayed by 20 ms',
    transfers: ON_REQUESTS,
    rules: [{ ...chance('delay', 0.01), delayNs: 20_000_000 }],
  },
  { name: '2 % doubled', transfers: ON_REQUESTS, rules: [chance('duplicate', 0.02)] },
  { name: '2 % damaged', transfers: ON_REQUESTS, rules: [chance('corrupt', 0.02)] },
  {
    name: '1 % dropped, 1 % behind the next three',
    transfers: ON_REQUESTS,
    rules: [chance('drop', 0.01), { ...chance('reorder', 0.01), behind: 3 }],
  },
  { name: '20 % of ACKs dropped', transfers: ON_REQUESTS, rules: [chance('drop', 0.2, 'ack')] },
  { name: '3 % of READ responses dropped', transfers: ON_RESPONSES, rules: [chance('drop', 0.03, 'read-response')] },
  {
    name: '5 % marked CE',
    transfers: [TRANSFERS.marked, TRANSFERS.markedSend, TRANSFERS.markedRead],
    rules: [chance('mark-ce', 0.05, ALL)],
  },
  {
    name: 'all of it, 0.5 % each',
    transfers: [TRANSFERS.write, TRANSFERS.read, TRANSFERS.rping],
    rules: [
      chance('drop', 0.005, ALL),
      chance('duplicate', 0.005, ALL),
      chance('corrupt', 0.005, ALL),
      { ...chance('reorder', 0.005, ALL), behind: 3 },
    ],
  },
];

/** All runs of one kernel, or the first `each` of every kind. The seed tells them apart. */
export function plannedRuns(firstSeed: number, each = 3): PlannedRun[] {
  return GUEST_KINDS.flatMap((kind, i) =>
    kind.transfers.slice(0, each).map((transfer, j) => ({ kind, transfer, seed: firstSeed + 3 * i + j })),
  );
}

/** What decides whether a loss can be told. What waits for others may be late by any time. */
export function faultsOf({ rules }: GuestKind): NetworkFaults {
  const does = (action: WireRule['do']) => rules.filter((rule) => rule.do === action);
  const lateNs = Math.max(0, ...does('delay').map(({ delayNs = 0 }) => delayNs));
  const answers = does('drop').some(({ on }) => [on?.opcode ?? []].flat().some((name) => ANSWERS.has(name)));
  return {
    lateNs: does('reorder').length > 0 ? Number.POSITIVE_INFINITY : lateNs,
    doubles: does('duplicate').length > 0,
    losesAnswers: answers,
    steady: false,
  };
}

function chance(action: WireRule['do'], probability: number, opcode: string | readonly string[] = REQUESTS): WireRule {
  return { on: { opcode, probability }, do: action };
}

function perftest(command: string): Transfer {
  const line = `${command} -d rxe0 -u ${ACK_TIMEOUT}`;
  // Port 18515.
  return { server: line, ready: "grep -q ':4853 ' /proc/net/tcp /proc/net/tcp6", client: `${line} ${SERVER_ADDRESS}` };
}

function rping(): Transfer {
  const line = `-a ${SERVER_ADDRESS} -C 4 -S 60000 -v`;
  return {
    server: `rping -s ${line}`,
    ready: "rdma resource show cm_id | grep LISTEN | grep -q ':7174'",
    client: `rping -c ${line}`,
  };
}
