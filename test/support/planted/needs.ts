/** Tests that need things, for `need.test.ts`, which runs them where the things are missing. */
import { expect, it } from 'vitest';
import { describeUnless, describeWith, itWith } from '../need.ts';

describeWith('tshark', 'with tshark', () => {
  it.each([1, 2])('runs %i', () => expect(1).toBe(1));
});
describeWith(['tshark', 'koffi'], 'with tshark and koffi', () => {
  it('runs', () => expect(1).toBe(1));
});
itWith('compiler', 'runs', () => expect(1).toBe(1));
describeUnless('there is no cake', 'with cake', () => {
  it('runs', () => expect(1).toBe(1));
});
it('runs without anything', () => {
  expect(1).toBe(1);
});
