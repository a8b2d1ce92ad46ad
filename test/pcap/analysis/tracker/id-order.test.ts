/** Goal: what a counter of identifications shows of the order. Method: short rows of identifications, as they come. */
import { expect, it } from 'vitest';
import { IpIdOrder } from '../../../../pcap/analysis/tracker/id-order.ts';

function after(...ids: readonly number[]): IpIdOrder {
  const order = new IpIdOrder();
  for (const id of ids) order.step(id);
  return order;
}

it('a packet that was overtaken does not set the order back', () => {
  const order = after(10, 11, 12, 13, 14, 15, 16, 12);
  expect(order.isUsable).toBe(true);
  expect(order.compareToLast(15)).toBeLessThan(0);
  expect(order.compareToLast(17)).toBeGreaterThan(0);
});

it('a counter wraps', () => {
  const order = after(0xff_fc, 0xff_fd, 0xff_fe, 0xff_ff, 0, 1);
  expect(order.isUsable).toBe(true);
  expect(order.compareToLast(0xff_ff)).toBeLessThan(0);
});

it('a counter that begins anew, far behind, is followed', () => {
  const order = after(30_000, 30_001, 30_002, 30_003, 30_004, 30_005, 20_000);
  expect(order.compareToLast(20_001)).toBeGreaterThan(0);
});
