/**
 * Goal: a requester that goes back without a NAK and before the ACK timeout that was agreed on is told so, as a note.
 * Method: the real stack over a wire that is cut for a while; afterwards the REQ in the capture is made to agree on more.
 */
import { describe, expect, it } from 'vitest';
import { CmAttribute, readCmReq, writeCmReq } from '../../../../packets/cm/index.ts';
import { Op } from '../../../../packets/opcode.ts';
import { mendIcrc, rewriteCapture } from '../../../../tools/symptoms/rewrite.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { analyze } from './support.ts';

/** Waits of the ACK timeout with this code, in a capture whose REQ has another one. */
async function findings(code: number, agreed: number, cm = true, timeouts = 2.5) {
  const capture = await play({ vantages: ['A'] }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm, timeout: code });
    for (let i = 0; i < 20; i++) await a.write(b, 3000);
    const cut = stage.rule({ port: 'A', direction: 'receive', match: () => true, action: 'drop' });
    const late = a.write(b, 100);
    await stage.sleep(timeouts * 4096 * 2 ** code);
    cut.end();
    await late;
    for (let i = 0; i < 20; i++) await a.write(b, 3000);
  });
  const changed = rewriteCapture(capture, (packet) => {
    const { view, frame } = packet;
    const at = frame.payloadOffset;
    if (frame.opcode !== Op.UdSendOnly || view.getUint16(at + 16) !== CmAttribute.REQ) return true;
    const req = readCmReq(view, at);
    writeCmReq(view, at, { ...req, primaryPath: { ...req.primaryPath, localAckTimeout: agreed } });
    mendIcrc(packet);
    return true;
  });
  return analyze(changed).findings;
}

describe('a requester that waits for less than was agreed on', () => {
  it('is a note with what it waited', async () => {
    const [note, ...others] = await findings(10, 18);
    expect(others).toEqual([]);
    expect(note).toMatchObject({
      id: 'retry-exceeded',
      severity: 'note',
      evidence: { shortWaits: 3, agreedNs: 2 ** 30 },
    });
    expect(note?.text).toMatch(
      /sent requests again 3 times for no NAK, when it had waited .*4\.\d ms, 1\d ms in all, and not 1\.1 s, the ACK timeout that was agreed on/,
    );
  });

  it('is another one where the timeout was agreed on, or nothing was', async () => {
    const agreed = await findings(10, 10);
    expect(agreed.map(({ id, evidence }) => [id, evidence['timeouts']])).toEqual([['retry-exceeded', 3]]);
    const unknown = [...(await findings(9, 18, false)), ...(await findings(10, 0))];
    for (const { evidence } of unknown) expect(evidence['shortWaits']).toBeUndefined();
  });

  it('is none where it did so once: it may have been slow', async () => {
    expect(await findings(10, 18, true, 0.5)).toEqual([]);
  });

  it('is none where it waited for less than a millisecond: it is slow', async () => {
    expect(await findings(7, 18)).toEqual([]);
  });
});
