/**
 * Goal: a slip of the keyboard leads to the word that was meant, and a word from elsewhere to none. Method: words of
 * each distance, at the bound and one beyond it.
 */
import { expect, it } from 'vitest';
import { suggest } from '../../../pcap/filter/suggest.ts';

const WORDS = ['nak', 'retransmission', 'infiniband.bth.psn', 'psn-gap', 'opcode'];

it.each([
  ['a swap', 'retransmisison', ['retransmission']],
  ['a swap and two letters too many', 'rretransmisisonn', ['retransmission']],
  ['four slips, one beyond the most', 'rretransmisisonnn', []],
  ['a third of the letters and one, of a short word', 'nxx', ['nak']],
  ['one letter more', 'nxxx', []],
  ['another case', 'NAK', ['nak']],
  ['the end of a name', 'bth.psn', ['infiniband.bth.psn']],
  ['how a word begins', 'retrans', ['retransmission']],
  ['a part of names', 'psn', ['psn-gap']],
  ['a part inside of a name', 'bth', ['infiniband.bth.psn']],
  ['too short to be how a word begins', 'op', []],
  ['nothing of ours', 'weather', []],
])('%s: %s means %j', (_, word, meant) => {
  expect(suggest(word, WORDS)).toEqual(meant);
});

it('names the nearest alone, the shorter first, and no more than asked for', () => {
  expect(suggest('ack', ['acks', 'pack', 'ask', 'ac'])).toEqual(['ac', 'ask', 'acks']);
  expect(suggest('ack', ['acks', 'pack', 'ask', 'ac'], 1)).toEqual(['ac']);
  expect(suggest('psm', ['psn', 'qpn', 'p'])).toEqual(['psn']);
});

it('takes a slip of three letters for likelier than a word that was not written to its end', () => {
  expect(suggest('moment', ['momentarily', 'comets'])).toEqual(['comets']);
  expect(suggest('moment', ['momentarily', 'one.moment'])).toEqual(['momentarily']);
});
