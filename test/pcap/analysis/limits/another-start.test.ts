/**
 * Goal: a requester that begins elsewhere than was announced is no capture that lost millions of packets. Method: the
 * scene of that symptom.
 */
import { expect, it } from 'vitest';
import { analyze, sceneNamed } from '../detectors/support.ts';

it('a jump to another starting PSN is no loss of the capture', async () => {
  const { limits, findings } = analyze(await sceneNamed('wrong-psn-other-than-announced').make());
  expect(limits).toEqual([]);
  expect(findings).toMatchObject([{ id: 'wrong-starting-psn', severity: 'error' }]);
});
