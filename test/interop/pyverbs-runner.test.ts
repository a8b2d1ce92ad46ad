/**
 * What runs the tests of pyverbs: goal: whatever a test does ends in one line that says what came of it, and touches no
 * other test. Method: a suite made up here that passes, skips, fails, dies and hangs. No pyverbs is needed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseOutcomes } from '../../tools/interop/pyverbs/results.ts';
import { RUNNER } from '../../tools/interop/pyverbs/suite.ts';
import { describeWith } from '../support/need.ts';

const FILES: Readonly<Record<string, string>> = {
  '__init__.py': `
import unittest
from . import test_all
def load_tests(loader, tests, pattern):
    return unittest.TestSuite([tests, loader.loadTestsFromModule(test_all)])
`,
  'args_parser.py': 'class parser:\n    parse_args = staticmethod(lambda: None)\n',
  'base.py': `
import os
class RDMATestCase:
    @staticmethod
    def get_net_name(device):
        return None
    def interface(self):
        there = os.path.exists('/sys/class/infiniband/none/device/net/')
        return self.get_net_name('none', 1) if there else None
`,
  'test_all.py': `
import os, signal, time, unittest
from tests.base import RDMATestCase
class Case(unittest.TestCase, RDMATestCase):
    state = []
    def test_passes(self):
        print('what a test prints is no result')
        self.state.append(1)
    def test_is_alone(self):
        self.assertEqual(self.state, [])
    def test_skips(self):
        raise unittest.SkipTest('no such device')
    def test_fails(self):
        self.assertEqual(1, 2)
    def test_raises(self):
        raise OSError(22, 'Invalid argument')
    def test_exits(self):
        os._exit(0)
    def test_dies(self):
        os.kill(os.getpid(), signal.SIGKILL)
    def test_leaves_a_child(self):
        if os.fork() == 0:
            time.sleep(600)
    def test_knows_its_interface(self):
        self.assertEqual(self.interface(), 'lo')
class Hanging(unittest.TestCase):
    def test_hangs(self):
        time.sleep(600)
`,
};

describeWith('python3', 'a suite that is not well', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-runner-'));
  const tests = join(directory, 'tests');
  beforeAll(() => {
    mkdirSync(tests);
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(tests, name), text);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const run = (seconds: number, ...patterns: readonly string[]) => {
    const args = [RUNNER, tests, String(seconds), 'lo', ...patterns];
    return parseOutcomes(execFileSync('python3', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  };

  it('has a line for each test', () => {
    const words = 'its process ended without a word';
    expect(
      Object.fromEntries([...run(30, 'test_all.Case.*')].map(([name, { verdict, why }]) => [name, [verdict, why]])),
    ).toEqual({
      'test_all.Case.test_dies': ['error', words],
      'test_all.Case.test_exits': ['error', words],
      'test_all.Case.test_fails': ['fail', 'AssertionError: 1 != 2'],
      'test_all.Case.test_is_alone': ['pass', ''],
      'test_all.Case.test_knows_its_interface': ['pass', ''],
      'test_all.Case.test_leaves_a_child': ['pass', ''],
      'test_all.Case.test_passes': ['pass', ''],
      'test_all.Case.test_raises': ['error', 'OSError: [Errno 22] Invalid argument'],
      'test_all.Case.test_skips': ['skip', 'no such device'],
    });
  });

  it('is ended where it does not end', () => {
    expect([...run(1, 'test_all.Hanging.test_hangs')]).toEqual([
      ['test_all.Hanging.test_hangs', { verdict: 'timeout', why: 'it did not end within 1 seconds' }],
    ]);
  });
});
