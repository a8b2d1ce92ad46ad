/**
 * `roce analyze ...` in a process of its own, which prints behind the report how much memory it took at most, in
 * kilobytes.
 */
import { readFileSync } from 'node:fs';
import { runProgram } from '../program.ts';

await runProgram(['analyze', ...process.argv.slice(2)], {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
process.exitCode = 0;
process.stdout.write(`\n${mostKilobytes()}\n`);

/** Linux counts in getrusage's figure what the process that started this one had when it did. */
function mostKilobytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}
