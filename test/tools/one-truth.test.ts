/**
 * Goal: a capture has one set of figures, whichever view shows them. Method: every capture in the repository goes
 * through `roce analyze`, the explorer and the export, and what they say of each conversation is compared.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { conversationFigures } from '../../pcap/analysis/conversation-figures.ts';
import { Role } from '../../pcap/analysis/facts.ts';
import { analyzeChunks } from '../../tools/analyze/analyze.ts';
import { overviewLines } from '../../tools/analyze/conversation-text.ts';
import { rateText } from '../../tools/analyze/words.ts';
import { bytesInMemory } from '../../tools/explorer/engine/file-bytes.ts';
import { ratePicture } from '../../tools/explorer/engine/rates.ts';
import { CaptureSession } from '../../tools/explorer/engine/session.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CAPTURES = ['corpus', 'docs/rxe-findings', 'test/vectors'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.pcap(ng)?$/.test(name) && statSync(join(ROOT, folder, name)).isFile())
    .map((name) => join(folder, name)),
);

async function* once(bytes: Uint8Array) {
  yield bytes;
}

function sessionOf(bytes: Uint8Array<ArrayBuffer>): CaptureSession {
  const session = new CaptureSession('capture', bytesInMemory(bytes));
  while (session.work(5000));
  return session;
}

/** Datagrams of connection management, which the figures of a conversation leave out. */
function managementBytes(session: CaptureSession, conversation: number): number {
  const { table } = session;
  let bytes = 0;
  for (const index of session.packetsOf(conversation).values)
    if (table.role[index] === Role.Management) bytes += table.original[index] ?? 0;
  return bytes;
}

describe('the figures of a capture', () => {
  it('are of every capture there is', () => {
    expect(CAPTURES.length).toBeGreaterThan(100);
  });

  it.each(CAPTURES)('are the same in every view: %s', async (name) => {
    const bytes = new Uint8Array(readFileSync(join(ROOT, name)));
    const { analysis } = await analyzeChunks(once(bytes.slice()));
    const session = sessionOf(bytes.slice());
    expect(session.analysis?.findings).toEqual(analysis.findings);
    expect(session.analysis?.capture).toEqual(analysis.capture);
    const shown = session.analysis?.conversations ?? [];
    expect(shown.map(conversationFigures)).toEqual(analysis.conversations.map(conversationFigures));
    const lines = overviewLines(analysis.conversations).join('\n');
    for (const conversation of analysis.conversations) {
      const figures = conversationFigures(conversation);
      if (conversation.cm !== undefined) {
        expect(conversation.startNs).toBe(session.table.timeNs[conversation.firstFrame - 1]);
        expect(session.packetsOf(conversation.id).at(0)).toBe(conversation.firstFrame - 1);
      }
      expect(lines).toContain(rateText(figures.goodputBps));
      const picture = ratePicture(session, { conversation: conversation.id, fromNs: 0, toNs: 0, bins: 100 });
      const total = (column: (side: (typeof picture.sides)[0]) => Float64Array): number =>
        picture.sides.reduce((sum, side) => sum + column(side).reduce((a, b) => a + b, 0), 0);
      const inBytes = (bps: number): number => Math.round((bps * picture.binNs) / 8e9);
      expect(inBytes(total(({ goodputBps }) => goodputBps))).toBe(figures.goodputBytes);
      expect(inBytes(total(({ wireBps }) => wireBps))).toBe(figures.bytes + managementBytes(session, conversation.id));
      if (figures.durationNs > 0) expect(picture.toNs - picture.fromNs).toBe(figures.durationNs);
    }
  });
});
