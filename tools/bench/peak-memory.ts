/** The most memory that this process has had. */
import { readFileSync } from 'node:fs';

/** Kilobytes. What getrusage says on Linux counts what the parent had when it started this process. */
export function mostKilobytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}
