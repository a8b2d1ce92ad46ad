/** Goal: a program gets the errno that its kernel would give it. Method: the numbers that Node has of this kernel. */
import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { Errno, errnoOf, nameOfErrno, Refusal } from '../../src/uverbs/errno.ts';

it('has the number of Linux for each name', () => {
  const known = Object.keys(Errno).map((name) => [name, constants.errno[name as keyof typeof constants.errno]]);
  expect(Errno).toEqual(Object.fromEntries(known));
});

it('is that of a refusal, or of a mistake of the caller; what is our own is thrown on', () => {
  expect(errnoOf(new Refusal(Errno.EBUSY))).toBe(16);
  expect(errnoOf(new RoceError('ERR_ROCE_ARGUMENT', 'out of range'))).toBe(Errno.EINVAL);
  expect(() => errnoOf(new TypeError('ours'))).toThrow('ours');
});

it('has a name for people', () => {
  expect([13, 22, 9999].map(nameOfErrno)).toEqual(['EACCES', 'EINVAL', 'errno 9999']);
});
