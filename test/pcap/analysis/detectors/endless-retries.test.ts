/**
 * Goal: RNR NAKs without an end are told with what connection management has agreed on: with RNR retry count 7 the
 * requester never gives up, with fewer it does, and of either end it is its own count. Method: a SEND that finds no
 * receive, from the active end and from the passive one, with the count in REQ or REP changed.
 */
import { describe, expect, it } from 'vitest';
import { mendIcrc, rewriteCapture } from '../../../../tools/symptoms/rewrite.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { analyze, findingOf } from './support.ts';

const REQ = 0x10;
const REP = 0x13;
const ATTRIBUTE_AT = 16;
const MAD_HEADER = 24;
/** Of the counts, in their messages: the upper bits of the byte in a REP, the lower ones in a REQ. */
const REP_RNR_AT = MAD_HEADER + 27;
const REQ_RNR_AT = MAD_HEADER + 50;

function scene(from: 'a' | 'b'): Promise<Uint8Array> {
  return play({ vantages: ['A'] }, async (stage) => {
    const pair = await stage.connect(stage.host('A'), stage.host('B'), { cm: true, rnrRetry: 7, minRnrTimer: 6 });
    void pair[from].send(100);
    await stage.sleep(1_000_000);
  });
}

/** The capture with another count in the message of this attribute. */
function withCount(capture: Uint8Array, attribute: number, count: number): Uint8Array {
  return rewriteCapture(capture, (packet) => {
    const { view, frame } = packet;
    if (frame.destQpn !== 1 || view.getUint16(frame.payloadOffset + ATTRIBUTE_AT) !== attribute) return undefined;
    const at = frame.payloadOffset + (attribute === REP ? REP_RNR_AT : REQ_RNR_AT);
    const mask = attribute === REP ? 0x1f : 0xf8;
    view.setUint8(at, (view.getUint8(at) & mask) | (attribute === REP ? count << 5 : count));
    mendIcrc(packet);
    return undefined;
  });
}

const NEVER = 'with RNR retry count 7 the requester never gives up';

describe('RNR NAKs that never end', () => {
  it.each([
    ['a', REP],
    ['b', REQ],
  ] as const)('of a requester with retry count 7 say so: %s', async (from, own) => {
    const capture = await scene(from);
    const other = own === REP ? REQ : REP;
    for (const each of [capture, withCount(capture, other, 3)]) {
      const finding = findingOf(analyze(each), 'rnr-exceeded');
      expect(finding).toMatchObject({ severity: 'warning', evidence: { rnrRetryCount: 7 } });
      expect(finding.text).toContain(NEVER);
      expect(finding.advice.join(' ')).not.toContain('Raise rnr_retry');
      expect(finding.advice[0]).toContain('tries again until there is one');
    }
    const fewer = findingOf(analyze(withCount(capture, own, 3)), 'rnr-exceeded');
    expect(fewer.evidence).toMatchObject({ rnrRetryCount: 3 });
    expect(fewer.text).not.toContain(NEVER);
    expect(fewer.advice.join(' ')).toContain('Raise rnr_retry');
  });

  it('say nothing of the count where connection management is not in the capture', async () => {
    const capture = rewriteCapture(await scene('a'), ({ frame }) => frame.destQpn !== 1);
    const finding = findingOf(analyze(capture), 'rnr-exceeded');
    expect(finding.evidence['rnrRetryCount']).toBeUndefined();
    expect(finding.text).not.toContain('retry count');
  });
});
