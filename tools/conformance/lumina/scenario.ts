/**
 * What is tried: a message of 100 packets over a wire that does one thing to it. Data only; `play.ts` plays them, on
 * any stage. The list is Lumina's (drop, damage, mark; first, middle, last; WRITE, SEND and READ), and what go-back-N
 * has beyond it: a lost ACK, a copy, a second loss, a repetition that is lost as well.
 */
import type { WireRule } from 'rocev2/faults';

export interface LossScenario {
  readonly name: string;
  readonly opcode: 'write' | 'send' | 'read';
  /** Messages of each connection, and packets of each message. */
  readonly messages: number;
  readonly packets: number;
  /** Connections at a time, over the addresses in turn. */
  readonly connections: number;
  /** What the wire does; end a is the requester here, and is turned around where it is not. */
  readonly rules: readonly WireRule[];
  /** Packets that are touched, if all goes well; absent: it depends. */
  readonly injected?: number;
  /** Packets are ECN-capable, and the responder's notifications are judged. */
  readonly cnp?: true;
}

const PACKETS = 100;

/** The group of packets that carry the data of an opcode, and which way they go. */
const DATA = {
  write: { direction: 'a-to-b', opcode: 'write' },
  send: { direction: 'a-to-b', opcode: 'send' },
  read: { direction: 'b-to-a', opcode: 'read-response' },
} as const;

const ACKS = { direction: 'b-to-a', opcode: 'ack' } as const;

const one = (
  opcode: LossScenario['opcode'],
  what: string,
  rules: readonly WireRule[],
  injected: number,
): LossScenario => ({
  name: `${opcode}, ${what}`,
  ...{ opcode, rules, injected, messages: 1, packets: PACKETS, connections: 1 },
});

const lose = (opcode: LossScenario['opcode'], nth: number): WireRule => ({ on: { ...DATA[opcode], nth }, do: 'drop' });

const PLACES = [
  ['first', 1],
  ['middle', 50],
  ['last', PACKETS],
] as const;

function losses(opcode: LossScenario['opcode']): LossScenario[] {
  const group = DATA[opcode];
  return [
    one(opcode, 'nothing lost', [], 0),
    ...PLACES.map(([place, nth]) => one(opcode, `${place} packet lost`, [lose(opcode, nth)], 1)),
    one(opcode, 'a packet damaged', [{ on: { ...group, nth: 40 }, do: 'corrupt' }], 1),
    one(opcode, 'a packet copied', [{ on: { ...group, nth: 40 }, do: 'duplicate' }], 1),
    // The 102nd is always one that goes out again, however many went out before the first loss was noticed.
    one(opcode, 'two packets lost', [lose(opcode, 30), lose(opcode, 102)], 2),
    one(opcode, 'two neighbours lost', [lose(opcode, 30), lose(opcode, 31)], 2),
    one(
      opcode,
      'a packet and its repetition lost',
      [1, 2].map((iteration) => ({ on: { ...group, psn: 60, iteration }, do: 'drop' })),
      2,
    ),
  ];
}

export const SCENARIOS: readonly LossScenario[] = [
  ...losses('write'),
  ...losses('send'),
  ...losses('read'),
  one('write', 'last ACK lost', [{ on: { ...ACKS, psn: PACKETS - 1, iteration: 1 }, do: 'drop' }], 1),
  one('write', 'NAK lost', [lose('write', 50), { on: { ...ACKS, opcode: 'nak', nth: 1 }, do: 'drop' }], 2),
  one('read', 'request lost', [{ on: { direction: 'a-to-b', opcode: 'read-request', nth: 1 }, do: 'drop' }], 1),
  {
    // The next READ's responses are the first that can tell of a loss at the end of one: an implied NAK.
    name: 'four READs, the last response of the second lost',
    ...{ opcode: 'read', messages: 4, packets: 25, connections: 1, injected: 1 },
    rules: [lose('read', 50)],
  },
  {
    name: 'marks',
    ...{ opcode: 'write', messages: 5, packets: PACKETS, connections: 4, cnp: true },
    rules: [{ on: { ...DATA.write, every: 10 }, do: 'mark-ce' }],
  },
];

/** The rules as the wire takes them, whichever end asks. */
export function rulesFor({ rules }: LossScenario, requester: 'a' | 'b'): WireRule[] {
  if (requester === 'a') return [...rules];
  return rules.map((rule) => {
    const { direction } = rule.on;
    if (direction === undefined) return rule;
    return { ...rule, on: { ...rule.on, direction: direction === 'a-to-b' ? 'b-to-a' : 'a-to-b' } };
  });
}
