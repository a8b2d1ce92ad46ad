/** Goal: success of a guest's rping is what it printed, and one known complaint at its end is no failure. */
import { expect, it } from 'vitest';
import { rpingFault } from '../../tools/interop/stock-rping.ts';

const PINGS = [0, 1, 2].map((i) => `ping data: rdma-ping-${i}: ABC\n`).join('');
const COMPLAINT = 'client DISCONNECT EVENT...\nrdma_get_cm_event: Bad file descriptor\n';

it.each([
  ['all pings, exit code 0', { code: 0, stdout: PINGS, stderr: '' }, true],
  ['all pings, the known complaint', { code: 255, stdout: PINGS, stderr: COMPLAINT }, true],
  ['a ping missing', { code: 0, stdout: PINGS.slice(0, -20), stderr: '' }, false],
  ['the known complaint before the last ping', { code: 255, stdout: PINGS.slice(0, 40), stderr: COMPLAINT }, false],
  ['another complaint', { code: 255, stdout: PINGS, stderr: 'cq completion failed status 10' }, false],
  ['another exit code', { code: 1, stdout: PINGS, stderr: COMPLAINT }, false],
])('%s', (_what, result, good) => {
  expect(rpingFault(result, 3) === '').toBe(good);
});
