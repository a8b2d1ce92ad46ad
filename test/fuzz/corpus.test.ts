/**
 * Goal: no input that was ever interesting breaks anything again. Method: each target runs its corpus once, with
 * counters in the code: a corpus that reaches less than it did is an error, too.
 */
import { describe, it } from 'vitest';
import { type Reach, runCorpus } from './regression.ts';

/** What each corpus reached when it was made, less some room for changes of the code. */
const REACH: readonly (readonly [string, Reach])[] = [
  ['frame', { blocks: 870, outcomes: ['UD SEND Only over IPv6', 'BadHeaderLength', 'BadIpChecksum'] }],
  ['device', { blocks: 2200, outcomes: ['rc ERR, uc RTS, xrc ERR, failed work'] }],
  ['cm', { blocks: 700, outcomes: ['connected, sent REQ, sent RTU', 'sent REJ, sent REQ, sent SIDR_REP'] }],
  ['tcp', { blocks: 390, outcomes: ['the socket was closed; badSegment'] }],
  [
    'pcap',
    { blocks: 270, outcomes: ['pcap of 3 packets', 'capture file, byte N: a packet of N bytes is not believable'] },
  ],
  [
    'pcapng',
    { blocks: 320, outcomes: ['pcapng of 3 packets', 'capture file, byte N: an option does not fit into its block'] },
  ],
  ['filter', { blocks: 475, outcomes: ['a filter', 'filter, column N: at most N parentheses and negations inside'] }],
  ['scenario', { blocks: 315, outcomes: ['a scenario', 'a comparison'] }],
  ['experiment', { blocks: 205, outcomes: ['an experiment'] }],
  ['agent', { blocks: 195, outcomes: ['server: ok', 'client: answered, gone, gone'] }],
  ['rsockets', { blocks: 285, outcomes: ['data; ERR_ROCE_CLOSED: the socket was closed'] }],
  ['uverbs', { blocks: 690, outcomes: ['many done, many refused', 'none done, few refused'] }],
  ['rings', { blocks: 84, outcomes: ['3 requests, a post fits', 'a completion queue holds its capacity at most'] }],
];

describe('the corpus of', () => {
  it.each(REACH)('%s breaks nothing, and reaches what it is there for', runCorpus);
});
