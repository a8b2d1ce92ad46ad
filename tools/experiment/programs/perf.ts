/** The programs of perftest under their stock names, with their own command lines. */
import { addPerfOptions, choicesOf, PERF_PROGRAMS, type PerfFlags, playPerf } from '../../perf/main.ts';
import { type Program, program } from './program.ts';

export const perfPrograms: readonly Program[] = PERF_PROGRAMS.map((perf) =>
  program({
    name: perf.name,
    summary: `${perf.test === 'bw' ? 'bandwidth' : 'latency'} of ${perf.verb}, as ${perf.name} of perftest`,
    options: (command) => addPerfOptions(command, perf),
    run: ({ device, output, signal }, flags: PerfFlags & { readonly mtu?: number }, command) => {
      const [server] = command.processedArgs;
      const { mtu } = flags;
      const choices = choicesOf(perf, server, mtu === undefined ? flags : { ...flags, pathMtu: mtu });
      return playPerf(command, choices, device, output, signal);
    },
  }),
);
