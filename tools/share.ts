/** Shares of frames on a command line: one convention for all commands, a part of one or percent. */

/** How options say it. */
export const SHARE_HINT = '0..1, or as 1%';

/** `0.01` and `1%` are the same; NaN for what is neither, and for what is not between nothing and all. */
export function readShare(text: string): number {
  const [, digits = '', percent] = /^(\d+(?:\.\d+)?(?:e-?\d+)?)(%?)$/.exec(text) ?? [];
  const share = digits === '' ? Number.NaN : Number(digits) / (percent === '%' ? 100 : 1);
  return share <= 1 ? share : Number.NaN;
}

/** 0.01 as `1%`. */
export function shareText(share: number): string {
  return `${Number((share * 100).toPrecision(12))}%`;
}
