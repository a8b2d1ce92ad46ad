/**
 * `roce rstream`, `roce riostream`, `roce rcopy`, `roce udpong`: the command lines of the tools of rsockets, plus the
 * options that open a device.
 */
import type { Command } from 'commander';
import { addLinkOptions, exitWith, type LinkFlags, withDevice } from '../options.ts';
import { terminal } from '../output.ts';
import { type RcopyFlags, rcopyOptions, rcopyRun } from './rcopy.ts';
import { riostreamOptions, riostreamRun } from './riostream.ts';
import { rstreamOptions, rstreamRun, type ToolRun } from './rstream.ts';
import type { StreamFlags } from './stream-flags.ts';
import { type UdpongFlags, udpongCommandOptions, udpongRun } from './udpong-command.ts';

export function rstreamCommand(): Command {
  return onLink<StreamFlags>(rstreamOptions(), rstreamRun);
}

export function riostreamCommand(): Command {
  return onLink<StreamFlags>(riostreamOptions(), riostreamRun);
}

export function rcopyCommand(): Command {
  const command = rcopyOptions();
  return onLink<RcopyFlags>(command, (flags) => rcopyRun(command, flags, command.args));
}

export function udpongCommand(): Command {
  return onLink<UdpongFlags>(udpongCommandOptions(), udpongRun);
}

function onLink<Flags>(command: Command, toolRun: (flags: Flags) => ToolRun): Command {
  return addLinkOptions(command).action(async () => {
    const run = toolRun(command.opts<never>());
    exitWith(await withDevice(command.opts<LinkFlags>(), (device, signal) => run(device, terminal, signal)));
  });
}
