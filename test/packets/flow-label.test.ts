/**
 * Goal: source ports are those that Linux hosts would choose, and spread.
 * Method: numbers out of the captures of rdma_rxe, and the kernel's own formula in BigInt beside ours.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { flowLabelOfQpns, sourcePortOfFlowLabel } from '../../packets/flow-label.ts';

it.each([
  [0x51f5f, 57163],
  [0xbfc07, 64552],
  [0x8462b, 50698],
  [0x0aefa, 61176],
])('makes of the label 0x%s in a REQ of rdma_rxe the port it then sent from', (label, port) => {
  expect(sourcePortOfFlowLabel(label)).toBe(port);
});

it.each([
  [0x16, 49636],
  [0x17, 49681],
  [0x1e, 50052],
  [0x20, 50176],
])('makes of two queue pairs numbered 0x%s, connected without labels, the port rdma_rxe sent from', (qpn, port) => {
  expect(sourcePortOfFlowLabel(flowLabelOfQpns(qpn, qpn))).toBe(port);
});

it('folds two queue pair numbers as the kernel does in 64 bits, the same from both ends', () => {
  const qpn = fc.integer({ min: 0, max: 0xff_ff_ff });
  fc.assert(
    fc.property(qpn, qpn, (a, b) => {
      let v = BigInt(a) * BigInt(b);
      v ^= v >> 20n;
      v ^= v >> 40n;
      expect(flowLabelOfQpns(a, b)).toBe(Number(v & 0xf_ff_ffn));
      expect(flowLabelOfQpns(b, a)).toBe(flowLabelOfQpns(a, b));
    }),
  );
});

it('reaches every port of 0xc000..0xffff and no other', () => {
  const ports = new Set(Array.from({ length: 0x10_00_00 }, (_, label) => sourcePortOfFlowLabel(label)));
  expect([ports.size, Math.min(...ports), Math.max(...ports)]).toEqual([0x40_00, 0xc0_00, 0xff_ff]);
});
