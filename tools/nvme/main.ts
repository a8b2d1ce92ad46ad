/** `roce nvme`: disks over RDMA. Owns the list of its subcommands. */
import { Command } from 'commander';
import { serveCommand } from './serve.ts';

export function nvmeCommand(): Command {
  return new Command('nvme').description(NVME_SUMMARY).addCommand(serveCommand());
}

const NVME_SUMMARY = 'disks over RDMA, NVMe over Fabrics; works with nvme-cli and the Linux kernel';
