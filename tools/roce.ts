#!/usr/bin/env node
/** The `roce` command, for the shell. */
import { complain, print } from './output.ts';
import { runProgram } from './program.ts';

const code = await runProgram(process.argv.slice(2), { out: print, err: complain });
if (code !== undefined) process.exitCode = code;
