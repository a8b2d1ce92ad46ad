/**
 * `roce analyze ...` in a process of its own, which prints behind the report how much memory it took at most, in
 * kilobytes.
 */
import { runProgram } from '../program.ts';
import { mostKilobytes } from './peak-memory.ts';

await runProgram(['analyze', ...process.argv.slice(2)], {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
process.exitCode = 0;
process.stdout.write(`\n${mostKilobytes()}\n`);
