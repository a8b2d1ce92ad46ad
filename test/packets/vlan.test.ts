/**
 * Goal: it is clear whose frame a frame is, tagged or not, whatever its bytes.
 * Method: headers by hand, and arbitrary bytes.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FOREIGN_VLAN, NO_VLAN, vlanOfFrame, vlanTci } from '../../packets/vlan.ts';

function vlanOf(...behindMacs: readonly number[]): number {
  const bytes = Uint8Array.of(...new Uint8Array(12), ...behindMacs);
  return vlanOfFrame(new DataView(bytes.buffer), 0, bytes.length);
}

it.each([
  ['an untagged frame', [0x08, 0x00, 0x45, 0, 0, 0], NO_VLAN],
  ['a tag', [0x81, 0x00, 0x00, 0x05, 0x08, 0x00], 5],
  ['a tag with priority and drop eligible indicator', [0x81, 0x00, 0xf0, 0x05, 0x08, 0x00], 5],
  ['the largest id', [0x81, 0x00, 0x0f, 0xfe, 0x86, 0xdd], 4094],
  ['a priority tag', [0x81, 0x00, 0xe0, 0x00, 0x08, 0x00], NO_VLAN],
  ["a provider's tag", [0x88, 0xa8, 0x00, 0x05, 0x08, 0x00], FOREIGN_VLAN],
  ['two tags', [0x81, 0x00, 0x00, 0x05, 0x81, 0x00, 0x00, 0x06, 0x08, 0x00], FOREIGN_VLAN],
  ['a tag that is cut short', [0x81, 0x00, 0x00, 0x05, 0x08], NO_VLAN],
  ['a frame that is cut short', [0x81], NO_VLAN],
])('%s: VLAN of the frame', (_name, bytes, expected) => {
  expect(vlanOf(...bytes)).toBe(expected);
});

it('reads the id that a tag was made with', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4094 }), fc.integer({ min: 0, max: 7 }), (id, priority) => {
      const tci = vlanTci(id, priority);
      expect(tci >>> 13).toBe(priority);
      expect(vlanOf(0x81, 0x00, tci >>> 8, tci & 0xff, 0x08, 0x00)).toBe(id);
    }),
  );
});

it('reads nothing outside the frame', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
      const roomy = Uint8Array.of(0x81, 0x81, ...bytes, 0x81, 0x00, 0x81, 0x00);
      const inside = vlanOfFrame(new DataView(roomy.buffer), 2, 2 + bytes.length);
      expect(inside).toBe(vlanOfFrame(new DataView(bytes.slice().buffer), 0, bytes.length));
    }),
  );
});
