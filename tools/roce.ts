#!/usr/bin/env node
/** The `roce` command, for the shell. */
import { runProgram } from './program.ts';

const code = await runProgram(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
if (code !== undefined) process.exitCode = code;
