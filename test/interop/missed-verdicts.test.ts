/**
 * Goal: verdicts on what rdma_rxe's receivers lacked are true where round trips vary. Method: captures of runs between
 * guests (test/vectors/missed), cut behind what matters; what the bump did is known.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readCapture } from '../../pcap/reader.ts';
import { analyze } from '../../tools/experiment/findings.ts';

const events = (name: string) => {
  const path = fileURLToPath(new URL(`../vectors/missed/${name}.pcap.gz`, import.meta.url));
  return analyze(readCapture(gunzipSync(readFileSync(path)))).events;
};

it('a request is not overtaken because the answer to its retransmission is the quickest so far', () => {
  const told = events('lost-told-overtaken-requester').filter(({ psn }) => psn === 5_986_136);
  expect(told.map(({ kind }) => kind)).not.toContain('reordering');
  expect(told.map(({ kind }) => kind)).toContain('loss');
});

it('nor because a NAK asks for a later request whose own second sending was lost before this capture', () => {
  const told = events('lost-told-overtaken-responder').filter(({ psn }) => psn === 10_235_050 || psn === 10_235_001);
  expect(told.map(({ kind }) => kind)).not.toContain('reordering');
});

it('a retransmission that a NAK asked for has no timeout, when the next NAK has come before it', () => {
  expect(events('nak-told-timeout-requester').filter(({ kind }) => kind === 'timeout')).toEqual([]);
});

it('a READ response that is in the capture of its requester, and comes late, is not lost', () => {
  const lost = events('read-overtaken-told-lost-requester').filter(
    ({ kind, sender }) => kind === 'loss' && sender === 1,
  );
  expect(lost.map(({ psn }) => psn)).toEqual([15_078_357]);
});

it('a request whose NAK is slow is lost, where nothing has been overtaken', () => {
  const told = events('slow-nak-requester').filter(({ kind }) => ['loss', 'missing', 'reordering'].includes(kind));
  expect(told.map(({ kind, psn }) => [kind, psn])).toEqual([
    ['loss', 4_937_517],
    ['loss', 4_937_523],
    ['loss', 4_937_574],
  ]);
});

it('a request that was dropped behind a late one is not overtaken because its second sending, unasked, came in order', () => {
  const told = events('dropped-behind-late-requester').filter(({ kind }) => kind === 'reordering');
  expect(told.map(({ psn }) => psn)).toContain(8_946_724);
  expect(told.map(({ psn }) => psn)).not.toContain(8_946_725);
});
