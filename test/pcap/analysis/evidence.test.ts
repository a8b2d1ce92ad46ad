/** Goal: what every finding rests on is decided, and alarms without it become notes. */
import { expect, it } from 'vitest';
import { SYMPTOMS } from '../../../pcap/analysis/detectors/index.ts';
import { Limitations, RESTS_ON } from '../../../pcap/analysis/evidence.ts';
import { RULE_LIST } from '../../../pcap/analysis/rules/index.ts';
import type { CaptureLimit, CaptureLimitKind } from '../../../pcap/analysis/types.ts';

const limit = (kind: CaptureLimitKind, change: Partial<CaptureLimit> = {}): CaptureLimit => ({
  kind,
  text: '',
  interfaces: [],
  conversations: [],
  frames: [],
  evidence: {},
  ...change,
});

const severity = (id: string, limits: CaptureLimit[], change = {}): string =>
  new Limitations(limits, () => undefined).apply({ severity: 'error', text: '', frames: [1], ...change }, id).severity;

it('the table has every symptom and every rule, and nothing else', () => {
  const ids = [...SYMPTOMS.map(({ id }) => id), ...RULE_LIST.map(({ id }) => `rule/${id}`)];
  expect(Object.keys(RESTS_ON).sort()).toEqual(ids.sort());
});

it('a silence is an alarm only where both directions were captured', () => {
  expect(severity('no-reply', [limit('cut')])).toBe('error');
  expect(severity('no-reply', [limit('one-direction')])).toBe('note');
  expect(severity('no-reply', [limit('sampled')])).toBe('note');
  expect(severity('remote-access-error', [limit('sampled'), limit('one-direction')])).toBe('error');
});

it('a finding may rest on less than others of its symptom', () => {
  expect(severity('mtu-mismatch', [limit('sampled')], { restsOn: [] })).toBe('error');
});

it('a capture that lost a few packets has not made up many breaches', () => {
  const loss = limit('capture-loss', { evidence: { unseenPackets: 2, unseenPercent: 0.01 } });
  expect(severity('rule/opcode-sequence', [loss], { frameCount: 8 })).toBe('note');
  expect(severity('rule/opcode-sequence', [loss], { frameCount: 9 })).toBe('error');
  expect(severity('no-reply', [loss])).toBe('error');
  expect(severity('no-reply', [limit('capture-loss', { evidence: { unseenPackets: 200, unseenPercent: 40 } })])).toBe(
    'note',
  );
});

it('what the table does not know rests on everything', () => {
  expect(severity('unheard-of', [limit('clock-step')])).toBe('note');
  expect(severity('unheard-of', [limit('unread')])).toBe('error');
});
