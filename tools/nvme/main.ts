/** `roce nvme`: disks over RDMA. Owns the list of its subcommands. */
import { Command } from 'commander';
import { nvmeHostCommands } from './host-commands.ts';
import { serveCommand } from './serve.ts';

export function nvmeCommand(): Command {
  const command = new Command('nvme').description(NVME_SUMMARY).addCommand(serveCommand());
  for (const host of nvmeHostCommands()) command.addCommand(host);
  return command;
}

const NVME_SUMMARY = 'disks over RDMA, NVMe over Fabrics; works with nvme-cli and the Linux kernel';
