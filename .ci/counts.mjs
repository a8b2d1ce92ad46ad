// Prints the counts of every test report in a directory, as the runner made them, and their sum. A failure is a report
// that is missing or cannot be read, a lane without a test, a test or a file that failed, a skipped test in a lane that
// has everything, and one in a bare lane that no such lane repeats.
//
//   node .ci/counts.mjs DIRECTORY [LANES THAT ARE LEFT TO OTHER TURNS...]
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LANES = [
  ['bare-20', 'bare lane, Node 20, unprivileged'],
  ['bare-22', 'bare lane, Node 22, root'],
  ['bare-24', 'bare lane, Node 24, unprivileged'],
  ['test', 'npm test'],
  ['long', 'npm run test:long'],
];
const [directory = '.', ...left] = process.argv.slice(2);
/** A file that takes at least so much is named, for whoever looks where the minutes go. */
const LONG_S = 60;
const SKIPPED = ['skipped', 'pending', 'todo', 'disabled'];
/** Files of the lanes with everything, and files in which a bare lane skips. */
const repeated = new Set();
const skippedBare = new Set();
const total = { passed: 0, failed: 0, skipped: 0 };
for (const [name, title] of LANES) {
  if (left.includes(name)) {
    console.log(`${title}: left to another turn`);
    continue;
  }
  const file = join(directory, `${name}.json`);
  if (!existsSync(file)) {
    console.log(`${title}: ended without a report`);
    process.exitCode = 1;
    continue;
  }
  const run = readReport(file);
  if (run === undefined) {
    console.log(`${title}: its report cannot be read`);
    process.exitCode = 1;
    continue;
  }
  const [passed, failed, skipped] = [run.numPassedTests, run.numFailedTests, run.numPendingTests + run.numTodoTests];
  const broken = run.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length;
  const end = run.testResults.reduce((latest, { endTime }) => Math.max(latest, endTime), run.startTime);
  const minutes = ((end - run.startTime) / 60_000).toFixed(1);
  const files = broken === 0 ? '' : `, ${broken} files failed without a test`;
  console.log(`${title}: ${passed} passed, ${failed} failed, ${skipped} skipped${files}, ${minutes} minutes`);
  total.passed += passed;
  total.failed += failed;
  // The lane with everything runs what a bare lane skips.
  const hasEverything = !name.startsWith('bare');
  if (hasEverything) total.skipped += skipped;
  for (const { seconds, path } of longest(run.testResults)) console.log(`  ${seconds} s ${path.slice(1)}`);
  for (const { name: path, assertionResults } of run.testResults) {
    const place = placeOf(path);
    for (const { status, fullName } of assertionResults) {
      if (status === 'failed') console.log(`  failed: ${place.slice(1)}: ${fullName}`);
    }
    if (hasEverything) repeated.add(place);
    else if (assertionResults.some(({ status }) => SKIPPED.includes(status))) skippedBare.add(place);
  }
  if (passed === 0 || failed + broken > 0 || run.success !== true || (hasEverything && skipped > 0)) {
    process.exitCode = 1;
  }
}
for (const place of skippedBare) {
  if (repeated.has(place)) continue;
  console.log(`${place}: skipped in a bare lane, and run in no other`);
  process.exitCode = 1;
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);

/** From `/test/` on: a lane has a clone of its own. */
function placeOf(path) {
  return path.slice(path.lastIndexOf('/test/'));
}

function longest(files) {
  return files
    .map(({ name, startTime, endTime }) => ({ path: placeOf(name), seconds: Math.round((endTime - startTime) / 1000) }))
    .filter(({ seconds }) => seconds >= LONG_S)
    .sort((a, b) => b.seconds - a.seconds);
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
