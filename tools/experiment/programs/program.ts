/**
 * What a program for a host of kind "stack" is: a command line as of the tool it stands for, run on a device that is
 * open already. Owns the reading of command lines; what is wrong with one is exit code 2, as for `roce`.
 */
import { Command, CommanderError } from 'commander';
import type { Device } from 'rocev2';
import type { ToolOutput } from '../../output.ts';

export interface ProgramContext {
  readonly device: Device;
  /** The words after the name. */
  readonly words: readonly string[];
  readonly output: ToolOutput;
  /** Ends the program in good order. */
  readonly signal: AbortSignal;
}

export interface Program {
  readonly name: string;
  readonly summary: string;
  /** Its options, as `--help` of a command prints them. */
  readonly help: string;
  /** Resolves with the exit code. Rejects with RoceError for what the device or the peer refuses. */
  run(context: ProgramContext): Promise<number>;
}

export interface ProgramParts<Flags> {
  readonly name: string;
  readonly summary: string;
  readonly options: (command: Command) => Command;
  readonly run: (context: ProgramContext, flags: Flags, command: Command) => Promise<number>;
}

export function program<Flags>({ name, summary, options, run }: ProgramParts<Flags>): Program {
  const make = (): Command => options(new Command(name).description(summary).exitOverride());
  return {
    name,
    summary,
    get help() {
      return make().helpInformation();
    },
    run: async (context) => {
      const command = make().configureOutput({
        writeOut: (text) => context.output.line(text.trimEnd()),
        writeErr: (text) => context.output.complaint(text.trimEnd()),
      });
      try {
        command.parse([...context.words], { from: 'user' });
        return await run(context, command.opts<never>(), command);
      } catch (error) {
        if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_BAD_COMMAND_LINE;
        throw error;
      }
    },
  };
}

const EXIT_BAD_COMMAND_LINE = 2;
