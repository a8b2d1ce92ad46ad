/**
 * Goal: every code says with errno what verbs return for the same mistake. Method: the table printed, and the override.
 */
import { expect, it } from 'vitest';
import { ERRNO_OF, InvariantError, invariant, RoceError, type RoceErrorCode } from '../../packets/errors.ts';

it('gives each code the errno of libibverbs', () => {
  const lines = Object.entries(ERRNO_OF).map(([code, errno]) => `${code.replace('ERR_ROCE_', '').padEnd(17)}${errno}`);
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    ARGUMENT         EINVAL
    STATE            EINVAL
    QUEUE_FULL       ENOMEM
    LIMIT            ENOMEM
    IN_USE           EBUSY
    ACCESS           EPERM
    ADDRESS          EADDRNOTAVAIL
    REJECTED         ECONNREFUSED
    TIMEOUT          ETIMEDOUT
    CLOSED           ENODEV
    LINK_UNAVAILABLE ENODEV
    UNSUPPORTED      EOPNOTSUPP
    CAPTURE          EIO
    "
  `);
});

it('an error carries the errno of its code unless the call names another', () => {
  for (const [code, errno] of Object.entries(ERRNO_OF) as [RoceErrorCode, string][])
    expect(new RoceError(code, 'words').errno).toBe(errno);
  const cause = new Error('why');
  const error = new RoceError('ERR_ROCE_ADDRESS', 'words', { cause, errno: 'EHOSTUNREACH' });
  expect([error.code, error.errno, error.cause, error.name]).toEqual([
    'ERR_ROCE_ADDRESS',
    'EHOSTUNREACH',
    cause,
    'RoceError',
  ]);
});

it('an invariant that does not hold is our own bug', () => {
  expect(() => invariant(false, 'two and two are four')).toThrow(InvariantError);
  expect(() => invariant(true, 'two and two are four')).not.toThrow();
});
