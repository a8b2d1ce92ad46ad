// Prints the counts of every test report in a directory, as the runner made them, and their sum. A missing report is a
// failure.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LANES = [
  ['bare-20', 'bare lane, Node 20, unprivileged'],
  ['bare-22', 'bare lane, Node 22, root'],
  ['bare-24', 'bare lane, Node 24, unprivileged'],
  ['test', 'npm test'],
  ['long', 'npm run test:long'],
];
const [directory = '.'] = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
for (const [name, title] of LANES) {
  const file = join(directory, `${name}.json`);
  if (!existsSync(file)) {
    console.log(`${title}: ended without a report`);
    process.exitCode = 1;
    continue;
  }
  const run = JSON.parse(readFileSync(file, 'utf8'));
  const [passed, failed, skipped] = [run.numPassedTests, run.numFailedTests, run.numPendingTests + run.numTodoTests];
  const minutes = (Math.max(...run.testResults.map(({ endTime }) => endTime)) - run.startTime) / 60_000;
  console.log(`${title}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${minutes.toFixed(1)} minutes`);
  total.passed += passed;
  total.failed += failed;
  // The lane with everything runs what a bare lane skips.
  if (!name.startsWith('bare')) total.skipped += skipped;
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
