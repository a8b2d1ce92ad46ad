/** `ethtool -S`: lines of `name: value`, also without their heading, as `grep` leaves them. */
import { counterOf } from '../names.ts';
import type { TextState } from './state.ts';

/** Whether the line is one of them. Without a command before, the interface has no name: it is called "netdev". */
export function readEthtool(line: string, state: TextState): boolean {
  if (/^NIC statistics/.test(line)) return true;
  const [, indent = '', name = '', value = ''] = /^(\s*)(\S.*?):\s+(\d{1,20})\s*$/.exec(line) ?? [];
  if (name === '' || (indent === '' && counterOf(name) === undefined)) return false;
  state.into.set(state.netdev === '' ? 'netdev' : state.netdev, name, BigInt(value));
  return true;
}
