/**
 * Goal: an address is never told for another one, however many there are. Method: more addresses than the memory has
 * places, each of them twice, compared with what is made anew.
 */
import { expect, it } from 'vitest';
import { Frame, formatMac, frameDestination, frameSource } from '../../../packets/index.ts';
import { destinationText, macText, sourceText } from '../../../tools/export/header-texts.ts';

it.each([4, 6] as const)('IPv%i and MAC addresses', (version) => {
  const frame = new Frame();
  frame.bytes = new Uint8Array(64);
  frame.view = new DataView(frame.bytes.buffer);
  frame.ipVersion = version;
  frame.ipOffset = 0;
  let wrong = 0;
  for (let i = 0; i < 20_000; i++) {
    const n = i % 10_000;
    for (let at = 8; at < 40; at += 4) frame.view.setUint32(at, Math.imul(n, 0x01_00_00_07) + at);
    if (sourceText(frame) !== frameSource(frame).toString()) wrong += 1;
    if (destinationText(frame) !== frameDestination(frame).toString()) wrong += 1;
    if (macText(frame.bytes, 10) !== formatMac(frame.bytes, 10)) wrong += 1;
  }
  expect(wrong).toBe(0);
});
