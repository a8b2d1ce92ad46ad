/**
 * Lines that say what the next ones are: the headings of `snapshot.sh`, and commands as people paste them with their
 * output. Owns both.
 */
import type { TextState } from './state.ts';

/** Whether the line was such a one. */
export function readHeader(line: string, state: TextState): boolean {
  return readHeading(line, state) || readCommand(line, state);
}

function readHeading(line: string, state: TextState): boolean {
  const [, word = '', rest = ''] = /^#\s*(roce-counters|host|date|netdev|section)\b:?\s*(.*)$/.exec(line) ?? [];
  const { into } = state;
  if (word === '') return /^#/.test(line) && !/^#\s*(ethtool|mlnx_qos|rdma|grep)\b/.test(line);
  if (word === 'host') into.host = rest.trim();
  else if (word === 'date') into.timeMs = timeOf(rest);
  else if (word === 'netdev') {
    const [device = '', port = '', netdev = ''] = rest.trim().split(/\s+/);
    if (netdev !== '') into.link(netdev, `${device}/${port}`);
  } else if (word === 'section') readCommand(rest, state);
  return true;
}

/** `ethtool -S eth0`, `mlnx_qos -i eth0`, `rdma statistic`, after a prompt or alone. */
function readCommand(line: string, state: TextState): boolean {
  const text = line.replace(/^[^$#>]*[$#>]\s*/, '').replace(/^[`\s]+|[`\s]+$/g, '');
  const [, netdev] = /^(?:sudo\s+)?(?:ethtool\s+(?:-S|--statistics)|mlnx_qos\s+-i)\s+([\w.@-]+)/.exec(text) ?? [];
  if (netdev !== undefined) {
    state.netdev = netdev;
    return true;
  }
  return /^(?:sudo\s+)?(?:rdma\s+stat|grep\s|cat\s)/.test(text) || /^`{3}/.test(line);
}

/** ISO 8601, or seconds since 1970. */
function timeOf(text: string): number | undefined {
  const trimmed = text.trim();
  const value = /^\d{9,11}(\.\d+)?$/.test(trimmed) ? Number(trimmed) * 1000 : Date.parse(trimmed);
  return Number.isFinite(value) ? value : undefined;
}
