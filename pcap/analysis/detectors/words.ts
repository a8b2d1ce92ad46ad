/** Numbers as sentences of findings have them. Owns spelling; computes nothing. */

/** "1 packet", "1,234 packets"; `many` where it is not simply an s more. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** "once", "twice", "17 times". */
export function times(count: number): string {
  if (count === 1) return 'once';
  return count === 2 ? 'twice' : `${grouped(count)} times`;
}

/** 1234567 as "1,234,567". */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** "12 %", "0.3 %": two digits that say something. */
export function percent(share: number): string {
  return `${rounded(share * 100)} %`;
}

/** "1.5 s", "67 ms", "80 us", "512 ns". */
export function duration(ns: number): string {
  if (ns >= 1e9) return `${rounded(ns / 1e9)} s`;
  if (ns >= 1e6) return `${rounded(ns / 1e6)} ms`;
  return ns >= 1e3 ? `${rounded(ns / 1e3)} us` : `${Math.round(ns)} ns`;
}

/** "9.4 Gb/s", "320 Mb/s". */
export function bitRate(bps: number): string {
  if (bps >= 1e9) return `${rounded(bps / 1e9)} Gb/s`;
  return bps >= 1e6 ? `${rounded(bps / 1e6)} Mb/s` : `${rounded(bps / 1e3)} kb/s`;
}

/** "A", "A and B", "A, B and C". */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Queue pair number as rdma tools print it. */
export function qpName(qpn: number): string {
  return qpn < 0 ? 'an unknown queue pair' : `queue pair 0x${qpn.toString(16).padStart(6, '0')}`;
}

function rounded(value: number): string {
  if (value >= 99.5 || Number.isInteger(value)) return grouped(Math.round(value));
  return String(Number(value.toPrecision(2)));
}
