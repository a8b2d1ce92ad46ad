/** Programs with the names and options of those in rdmacm-utils that speak rsocket: rstream, riostream, rcopy. */
import { RCOPY_SUMMARY, type RcopyFlags, rcopyOptions, rcopyRun } from '../../rsockets/rcopy.ts';
import { RIOSTREAM_SUMMARY, riostreamOptions, riostreamRun } from '../../rsockets/riostream.ts';
import { RSTREAM_SUMMARY, rstreamOptions, rstreamRun } from '../../rsockets/rstream.ts';
import type { StreamFlags } from '../../rsockets/stream-flags.ts';
import { type Program, program } from './program.ts';

export const rsocketPrograms: readonly Program[] = [
  program<StreamFlags>({
    name: 'rstream',
    summary: RSTREAM_SUMMARY,
    options: rstreamOptions,
    run: ({ device, output, signal }, flags) => rstreamRun(flags)(device, output, signal),
  }),
  program<StreamFlags>({
    name: 'riostream',
    summary: RIOSTREAM_SUMMARY,
    options: riostreamOptions,
    run: ({ device, output, signal }, flags) => riostreamRun(flags)(device, output, signal),
  }),
  program<RcopyFlags>({
    name: 'rcopy',
    summary: RCOPY_SUMMARY,
    options: rcopyOptions,
    run: ({ device, output, signal }, flags, command) => rcopyRun(command, flags, command.args)(device, output, signal),
  }),
];
