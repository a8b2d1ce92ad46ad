/** `roce analyze FILE` in a process of its own, which prints behind the report how much memory it took, in kilobytes. */
import { runProgram } from '../program.ts';

const [, , file = ''] = process.argv;
await runProgram(['analyze', file], {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
process.exitCode = 0;
process.stdout.write(`\n${process.resourceUsage().maxRSS}\n`);
