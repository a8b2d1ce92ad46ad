/** Tables for a terminal: plain text, columns as wide as their widest cell. */

export type Align = 'left' | 'right';

/** A heading line and a line for each row, indented by two; every row has as many cells as there are headings. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  aligns: readonly Align[],
): string[] {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    `  ${row.map((cell, column) => pad(cell, widths[column] ?? 0, aligns[column] ?? 'left')).join('  ')}`.trimEnd(),
  );
}

/** 1234567 as "1,234,567". */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A size in the largest binary unit that divides it: "0 B", "1025 B", "64 KiB", "1 MiB". */
export function formatBytes(bytes: number): string {
  if (bytes > 0 && bytes % 0x10_00_00 === 0) return `${bytes / 0x10_00_00} MiB`;
  return bytes > 0 && bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} B`;
}

function pad(cell: string, width: number, align: Align): string {
  return align === 'left' ? cell.padEnd(width) : cell.padStart(width);
}
