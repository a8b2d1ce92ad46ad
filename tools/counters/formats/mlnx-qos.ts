/** `mlnx_qos -i`: which priorities have PFC, and what chooses the priority. The rest of it is not needed here. */
import type { TextState } from './state.ts';

/** Whether the line belongs to it. */
export function readQos(line: string, state: TextState): boolean {
  const { into, netdev } = state;
  const name = netdev === '' ? 'netdev' : netdev;
  const [, trust] = /^Priority trust (?:state|mode):\s*(\w+)/.exec(line) ?? [];
  if (trust !== undefined) {
    into.settingsOf(name).trust = trust;
    return true;
  }
  const [, priorities] = /^\s*priority((?:\s+\d)+)\s*$/.exec(line) ?? [];
  if (priorities !== undefined) {
    state.columns = numbers(priorities);
    return true;
  }
  const [, enabled] = /^\s*enabled((?:\s+[01])+)\s*$/.exec(line) ?? [];
  if (enabled !== undefined) {
    const flags = numbers(enabled);
    into.settingsOf(name).pfc = state.columns.filter((_, at) => flags[at] === 1);
    return true;
  }
  return OTHER_LINES.test(line);
}

function numbers(text: string): number[] {
  return text.trim().split(/\s+/).map(Number);
}

const OTHER_LINES =
  /^(DCBX mode|Cable len|PFC configuration|Receive buffer|dscp2prio|Buffer size|total_size|default priority|tc:|tsa:)|^\s+(buffer\s|priority:|prio:\d+ dscp|Receive buffer|enabled|tsa:|ratelimit)|^\s*prio:\d/;
