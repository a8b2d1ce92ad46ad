/** The same tests in a guest, on the kernel's rdma_rxe. Owns the guest while they run. */
import { readFile } from 'node:fs/promises';
import { RoceError } from 'rocev2/packets';
import { Guest } from '../../lab/guest.ts';
import { buildImage, userlandPackages } from '../../lab/image.ts';
import { pythonOf, type Userland } from '../../lab/recipe.ts';
import { type Outcomes, parseOutcomes } from './results.ts';
import { RUNNER, TEST_SECONDS, TESTS } from './suite.ts';

/** What a guest's kernel made of the tests. */
export interface RxeRun {
  /** What `uname -r` prints. */
  readonly release: string;
  /** Of the package python3-pyverbs. */
  readonly version: string;
  readonly outcomes: Outcomes;
}

/**
 * Boots a guest of Linux 6.12 and runs the tests of a userland in it: two minutes. Rejects with `RoceError` as
 * `buildImage` and `Guest` do.
 */
export async function runOnRxe(
  userland: Userland,
  patterns: readonly string[],
  log: (line: string) => void,
): Promise<RxeRun> {
  const image = await buildImage('6.12', { userland, log });
  const guest = await Guest.boot({ image, addresses: ADDRESSES, memoryMiB: 768 });
  try {
    log(`kernel ${guest.release}: running the tests`);
    const runner = (await readFile(RUNNER)).toString('base64');
    const words = patterns.map((pattern) => `'${pattern}'`);
    const script = [
      `mkdir /tmp/suite && cp -r ${TESTS} /tmp/suite && gunzip /tmp/suite/tests/*.gz`,
      `echo ${runner} | base64 -d > /tmp/suite/run-tests.py`,
      `exec /usr/bin/${pythonOf(userland)} /tmp/suite/run-tests.py /tmp/suite/tests ${TEST_SECONDS} eth0 ${words.join(' ')}`,
    ];
    const { code, stdout, stderr } = await guest.run(script.join('\n'), { timeoutMs: TIMEOUT_MS });
    if (code !== 0) throw new RoceError('ERR_ROCE_STATE', `the tests did not run in the guest: ${stderr.trim()}`);
    const packages = await userlandPackages({ userland });
    return { release: guest.release, version: packages['python3-pyverbs'] ?? '', outcomes: parseOutcomes(stdout) };
  } finally {
    await guest.stop();
  }
}

const ADDRESSES = ['10.77.0.2/24', 'fd77::2/64'];
const TIMEOUT_MS = 1_800_000;
