// Prints the test files in which a bare lane has skipped something, from the lanes' reports: what the lane with
// everything has to run of them. Prints nothing when a report is missing, so that all of them run.
import { existsSync, readFileSync } from 'node:fs';

const reports = process.argv.slice(2);
const SKIPPED = ['skipped', 'pending', 'todo', 'disabled'];
const again = new Set();
if (reports.every((report) => existsSync(report))) {
  for (const report of reports) {
    for (const { name, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
      if (assertionResults.some(({ status }) => SKIPPED.includes(status)))
        again.add(name.slice(name.lastIndexOf('/test/') + 1));
    }
  }
}
for (const file of again) console.log(file);
