/**
 * Goal: a capture with an alarm that nobody expects fails a run, and one without the alarm that is expected too; a slow
 * host excuses only what the capture bears out. Method: two stacks and a wire that loses one packet, analyzed; then the
 * analysis altered.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Analysis, ConversationReport, Finding, RequesterReport } from '../../../pcap/analysis/index.ts';
import {
  FINDING_IDS,
  type FindingsWanted,
  judgeFindings,
  SLOW_HOST_WARNINGS,
} from '../../../tools/experiment/findings.ts';
import { failuresOf } from '../../../tools/experiment/run.ts';
import type { CaseExpectation } from '../../../tools/experiment/types.ts';
import { verifyCapture } from '../../../tools/interop/verify.ts';
import { useWhereThere } from '../../support/need.ts';
import { experimentOf, PING, run } from './support.ts';

useWhereThere('tshark');

const LOST = [{ name: 'lost', on: { opcode: 'RC RDMA READ response Middle', psn: 1, iteration: 1 }, do: 'drop' }];
const wanted = (findings: readonly string[], tolerated?: readonly string[]): CaseExpectation & FindingsWanted =>
  tolerated === undefined ? { wire: 'wire', findings } : { wire: 'wire', findings, tolerated };

/** What an experiment makes of each expectation, and the capture. */
async function pingWith(rules: readonly unknown[], expectations: readonly CaseExpectation[]) {
  const wires = [{ name: 'wire', between: ['alice', 'bob'], rules }];
  const { result, directory } = await run(experimentOf({ wires, cases: [{ ...PING, expect: expectations }] }));
  return { failures: result.cases.flatMap(failuresOf), capture: join(directory, 'ping', 'wire.pcapng') };
}

describe('an experiment', () => {
  it('fails for an alarm that it does not expect, and for one that it misses', async () => {
    const { failures, capture } = await pingWith(LOST, [
      wanted([]),
      wanted(['implied-nak']),
      wanted(['implied-nak', 'rnr-exceeded']),
      wanted([], SLOW_HOST_WARNINGS),
      wanted([], ['sequence-error']),
    ]);
    expect(failures).toEqual([
      expect.stringMatching(
        /^errors and warnings .* about wire: the analyzer finds warning implied-nak: .*, not none$/,
      ),
      expect.stringContaining('the analyzer does not find rnr-exceeded, not implied-nak, rnr-exceeded'),
      expect.stringMatching(/finds warning implied-nak: .*, not none; perhaps sequence-error, with retransmissions$/),
    ]);
    const alarms = (await verifyCapture(capture)).faults;
    expect(alarms).toEqual([expect.stringMatching(/^the analyzer finds warning implied-nak: /)]);
  });

  it('of a sound wire has no alarm', async () => {
    const { failures } = await pingWith([], [wanted([])]);
    expect(failures).toEqual([]);
  });
});

describe('a slow host', () => {
  it('excuses a warning where packets were sent again, and never an error', () => {
    expect(faultsOf(alarm({}), REPEATED)).toEqual([]);
    expect(faultsOf(alarm({ severity: 'error' }), REPEATED)).toEqual(['the analyzer finds error implied-nak: text']);
    expect(faultsOf(alarm({}), QUIET)).toHaveLength(1);
    expect(faultsOf(alarm({ conversations: [] }), REPEATED)).toHaveLength(1);
    expect(faultsOf(alarm({ conversations: [1, 2] }), REPEATED)).toHaveLength(1);
  });

  it('excuses late ACKs although nothing was sent again', () => {
    expect(faultsOf(alarm({ id: 'slow-responder' }), QUIET)).toEqual([]);
    expect(faultsOf(alarm({ id: 'slow-responder', severity: 'error' }), QUIET)).toHaveLength(1);
  });

  it('excuses no sequence error without a NAK, and nothing that is not its doing', () => {
    expect(faultsOf(alarm({ id: 'sequence-error' }), REPEATED)).toHaveLength(1);
    const refused = { ...QUIET, retransmittedPackets: 1, naks: { 'PSN sequence error': 1 } };
    expect(faultsOf(alarm({ id: 'sequence-error' }), refused)).toEqual([]);
    expect(faultsOf(alarm({ id: 'rule/read-length' }), refused)).toHaveLength(1);
    expect(faultsOf(alarm({ id: 'rule/read-length', severity: 'note' }), QUIET)).toEqual([]);
  });

  it('changes nothing about what must be found: a note of that name does not do', () => {
    const analysis = analysisOf(alarm({ severity: 'note' }), REPEATED);
    expect(judgeFindings(analysis, { findings: ['implied-nak'] })).toMatchObject({
      alarms: [],
      faults: ['the analyzer does not find implied-nak'],
    });
    const found = analysisOf(alarm({ severity: 'error' }), QUIET);
    expect(judgeFindings(found, { findings: ['implied-nak'] })).toEqual({
      alarms: ['error implied-nak'],
      faults: [],
      frames: [],
    });
  });

  it('is asked about by names that the analyzer has', () => {
    for (const id of SLOW_HOST_WARNINGS) expect(FINDING_IDS).toContain(id);
  });
});

type Asked = Pick<RequesterReport, 'retransmittedPackets' | 'naks' | 'responses'>;

/** What is wrong with an analysis when nothing is wanted of it. */
function faultsOf(finding: Finding, asked: Asked): readonly string[] {
  return judgeFindings(analysisOf(finding, asked), { findings: [], tolerated: SLOW_HOST_WARNINGS }).faults;
}

/** An analysis of one finding, about conversation 1 whose second end went through this; 2 was quiet. */
function analysisOf(finding: Finding, asked: Asked): Analysis {
  const conversation = (id: number, requester: Asked) => ({ id, ends: [{ requester: QUIET }, { requester }] });
  const conversations = [conversation(1, asked), conversation(2, QUIET)] as unknown as readonly ConversationReport[];
  return { findings: [finding], conversations } as unknown as Analysis;
}

function alarm(changes: Partial<Finding>): Finding {
  const about = { frames: [3], frameCount: 1, evidence: {}, advice: [], commands: [] };
  return { id: 'implied-nak', severity: 'warning', text: 'text', conversations: [1], ...about, ...changes };
}

const NO_RESPONSES = {
  packets: 0,
  retransmittedPackets: 0,
  lostPackets: 0,
  unseenPackets: 0,
  reorderedPackets: 0,
  undecidedPackets: 0,
};
const QUIET: Asked = { retransmittedPackets: 0, naks: {}, responses: NO_RESPONSES };
const REPEATED: Asked = { ...QUIET, responses: { ...NO_RESPONSES, retransmittedPackets: 2 } };
