/**
 * Goal: the checks of go-back-N find each fault by the rule that it breaks, and nothing in what is right. Method:
 * traces made by hand, one for each fault, where the number space wraps in the middle.
 */
import { describe, expect, it } from 'vitest';
import { gbnReceiverCheck, gbnSenderCheck } from '../../../../tools/conformance/lumina/checks.ts';
import { brokenOf, connectionOf, of, PACE, range, Scene } from './scene.ts';

const senderOf = (scene: Scene, psns: number) => gbnSenderCheck(scene.trace, connectionOf(psns), PACE);
const receiverOf = (scene: Scene) => gbnReceiverCheck(scene.trace, connectionOf(0));

describe('the sender of WRITEs and SENDs', () => {
  it('is right when it sends in order, goes back to what the NAK names and repeats all from there', () => {
    const scene = new Scene().sends(0, 1, 2);
    scene.send(3, { deed: 'dropped' }).sends(...range(4, 20));
    scene
      .naks(3)
      .sends(20)
      .sends(...range(3, 40));
    scene.acks(39);
    const results = senderOf(scene, 40);
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'REQ-27').seen).toBe(1);
    expect(of(results, 'REQ-15').seen).toBe(1);
    expect(of(results, 'REQ-24')).toMatchObject({ seen: 1, variation: '' });
    expect(of(results, 'REQ-28').seen).toBe(58);
    expect(of(results, 'REQ-28').figures).toMatchObject({ naksGot: 1, timeouts: 0, reactionNsMedian: 2e3 });
  });

  it('breaks REQ-27 when it skips a packet', () => {
    const results = senderOf(new Scene().sends(0, 1, 3).acks(3), 4);
    expect(brokenOf(results)).toEqual(['REQ-27']);
    expect(of(results, 'REQ-27').difference).toBe('psn+2 was to be sent, and psn+3 was: packets were skipped');
  });

  it('breaks REQ-27 when it repeats the lost packet and skips the next', () => {
    const scene = new Scene().sends(0).send(1, { deed: 'dropped' }).sends(2, 3).naks(1).sends(1, 3).acks(3);
    expect(brokenOf(senderOf(scene, 4))).toEqual(['REQ-27']);
  });

  it('breaks REQ-27 when it never repeats what was lost or damaged', () => {
    for (const deed of ['dropped', 'corrupted'] as const) {
      const results = senderOf(new Scene().sends(0).send(1, { deed }).sends(2).acks(2), 3);
      expect(of(results, 'REQ-27').difference).toBe('psn+1 was lost and not sent again');
    }
  });

  it('breaks REQ-27 when packets are left unacknowledged in the end', () => {
    expect(brokenOf(senderOf(new Scene().sends(0, 1, 2).acks(1), 3))).toEqual(['REQ-27']);
  });

  it('may jump over what was acknowledged while it was repeating', () => {
    const scene = new Scene().sends(0, 1, 2, 3, 4).pass(2e6).sends(0).acks(3).sends(4).acks(4);
    expect(brokenOf(senderOf(scene, 5))).toEqual([]);
  });

  it('breaks REQ-28 when it goes back without a reason, and not when its timer has run', () => {
    const again = (ns: number) => new Scene().sends(0, 1, 2).pass(ns).sends(0, 1, 2).acks(2);
    const early = senderOf(again(0.9e6), 3);
    expect(brokenOf(early)).toEqual(['REQ-28']);
    expect(of(early, 'REQ-28').difference).toBe('it went back to psn+0 without a NAK, 903 us after the last event');
    const late = senderOf(again(1e6), 3);
    expect(brokenOf(late)).toEqual([]);
    expect(of(late, 'REQ-28').figures).toMatchObject({ timeouts: 1 });
  });

  it('has no timer to go back by when the timeout is 0', () => {
    const scene = new Scene().sends(0).pass(1e9).sends(0).acks(0);
    const results = gbnSenderCheck(scene.trace, connectionOf(1), { timeoutNs: 0, slackNs: 0 });
    expect(brokenOf(results)).toEqual(['REQ-28']);
  });

  it('counts the timer anew from every acknowledge that brings it on', () => {
    const scene = new Scene().sends(0, 1, 2).pass(0.9e6).acks(0).pass(0.5e6).sends(1, 2).acks(2);
    expect(brokenOf(senderOf(scene, 3))).toEqual(['REQ-28']);
  });

  it('breaks REQ-15 when it goes on behind what the NAK named', () => {
    const scene = new Scene().sends(0, 1, 2, 3, 4).naks(1).sends(2, 3, 4).acks(4);
    const results = senderOf(scene, 5);
    expect(brokenOf(results)).toEqual(['REQ-15']);
    expect(of(results, 'REQ-15').difference).toBe('the NAK named psn+1, and it went on from psn+2');
  });

  it('may go on before what the NAK named', () => {
    const results = senderOf(new Scene().sends(0, 1, 2, 3).naks(2).sends(1, 2, 3).acks(3), 4);
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'REQ-15').figures).toMatchObject({ repeatedFromBefore: 1 });
  });

  it('breaks REQ-24 when a NAK has no effect at all, and varies when only the timer has', () => {
    const deaf = senderOf(new Scene().sends(0, 1, 2).naks(1), 3);
    expect(of(deaf, 'REQ-24').difference).toBe('the NAK for psn+1 had no effect');
    const slow = senderOf(new Scene().sends(0, 1, 2).naks(1).pass(1e6).sends(1, 2).acks(2), 3);
    expect(brokenOf(slow)).toEqual([]);
    expect(of(slow, 'REQ-24').variation).toContain('the timer repeated it 1001 us later');
  });

  it('says nothing of rules that nothing tried', () => {
    const results = senderOf(new Scene(), 0);
    expect(results.map(({ seen }) => seen)).toEqual([0, 0, 0, 0]);
  });
});

describe('the receiver of WRITEs and SENDs', () => {
  it('is right when it names each gap once and acknowledges in order', () => {
    const scene = new Scene().sends(0).send(1, { deed: 'dropped' }).sends(2, 3).naks(1).sends(4, 1, 2);
    scene.send(3, { deed: 'corrupted' }).send(4, { ackReq: true }).naks(3).sends(3).send(4, { ackReq: true }).acks(4);
    const results = receiverOf(scene);
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'RSP-PSN-04').seen).toBe(2);
    expect(of(results, 'RSP-PSN-06').seen).toBe(1);
    expect(of(results, 'ACK-05').figures).toMatchObject({ gaps: 2, naksSent: 2, nakNsMin: 1e3, ackNsMedian: 1e3 });
    expect(of(results, 'ACK-05').figures).toMatchObject({ nakToAckRatio: 1 });
  });

  it('breaks RSP-PSN-04 when a NAK names another packet, or there is no gap', () => {
    const scene = new Scene().sends(0).send(1, { deed: 'dropped' }).sends(2).naks(2).naks(1);
    expect(of(receiverOf(scene), 'RSP-PSN-04').difference).toBe('a NAK names psn+2, and psn+1 is missing');
    expect(brokenOf(receiverOf(scene))).toEqual(['RSP-PSN-04']);
    const idle = receiverOf(new Scene().sends(0).naks(1));
    expect(of(idle, 'RSP-PSN-04').difference).toBe('a NAK names psn+1, and there is no gap');
  });

  it('breaks RSP-PSN-04 when a gap draws nothing, and RSP-PSN-06 when only the first one drew a NAK', () => {
    const scene = new Scene().send(0, { deed: 'dropped' }).sends(1);
    expect(brokenOf(receiverOf(scene))).toEqual(['RSP-PSN-04']);
    const second = scene.naks(0).sends(0).send(1, { deed: 'dropped' }).sends(2, 1, 2);
    expect(brokenOf(receiverOf(second))).toEqual(['RSP-PSN-04', 'RSP-PSN-06']);
  });

  it('breaks RSP-PSN-05 and ACK-14 when a gap draws two NAKs', () => {
    const scene = new Scene().send(0, { deed: 'dropped' }).sends(1, 2).naks(0).naks(0).sends(0, 1, 2);
    expect(brokenOf(receiverOf(scene))).toEqual(['RSP-PSN-05', 'ACK-14']);
  });

  it('may have sent a NAK that passes after the packet that closes the gap', () => {
    const scene = new Scene().send(0, { deed: 'dropped' }).sends(1, 0, 1).naks(0).acks(1);
    expect(brokenOf(receiverOf(scene))).toEqual([]);
  });

  it('breaks ACK-05 when acknowledges go backwards', () => {
    const results = receiverOf(new Scene().sends(0, 1, 2).acks(2).acks(1));
    expect(brokenOf(results)).toEqual(['ACK-05']);
    expect(of(results, 'ACK-05').difference).toBe('psn+1 was acknowledged after psn+2');
  });

  it('breaks ACK-15 when it acknowledges what it has not got: lost, damaged or never sent', () => {
    for (const deed of ['dropped', 'corrupted'] as const)
      expect(brokenOf(receiverOf(new Scene().sends(0).send(1, { deed }).acks(1)))).toEqual(['ACK-15']);
    expect(brokenOf(receiverOf(new Scene().sends(0).acks(1)))).toEqual(['ACK-15']);
  });

  it('breaks RSP-PSN-10 when what comes again and asks for it is not acknowledged', () => {
    const scene = new Scene().sends(0).send(1, { ackReq: true }).acks(1, { deed: 'dropped' });
    scene.pass(2e6).send(1, { ackReq: true });
    expect(brokenOf(receiverOf(scene))).toEqual(['RSP-PSN-10']);
    const results = receiverOf(scene.acks(1));
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'RSP-PSN-10').seen).toBe(1);
  });
});
