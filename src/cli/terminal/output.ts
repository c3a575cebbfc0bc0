import pc from 'picocolors';
import { wantsColor } from '../../config.ts';

/** stdout is data, for the next program; stderr is for the person who watches. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Columns as wide as their widest cell; the last one is left ragged. */
export function table(rows: string[][]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  const lines = rows.map((row) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Colours for one stream: none when it is not a terminal or NO_COLOR is set. */
export function colorsFor(stream: { isTTY?: boolean }) {
  return pc.createColors(wantsColor(stream));
}
