export type ProgressUnit = 'things' | 'bytes';

export interface ProgressState {
  done: number;
  /** Null when the total is unknown. */
  total: number | null;
  elapsedMs: number;
  /** Columns that the line may fill. */
  width: number;
  /** What is counted; by default single things. */
  unit?: ProgressUnit;
  /** The current rate; by default the mean since the start. */
  perSecond?: number;
  /** Whether the rate has been steady long enough to predict the end; by default judged by the elapsed time. */
  isSteady?: boolean;
}

const steadyAfterMs = 2_000;
const widestBar = 40;
const narrowestBar = 8;

/** ` 42% [########------------] 4,200/10,000  350/s  ETA 0:17`, with as much of it as fits. */
export function renderProgress(state: ProgressState): string {
  const { total, elapsedMs, width, unit = 'things' } = state;
  const amount = unit === 'bytes' ? shortBytes : grouped;
  const done = Math.max(0, total === null ? state.done : Math.min(state.done, total));
  const perSecond = state.perSecond ?? (elapsedMs > 0 ? (done / elapsedMs) * 1000 : 0);
  const isSteady = state.isSteady ?? elapsedMs >= steadyAfterMs;
  const rate = `${unit === 'bytes' ? shortBytes(perSecond) : shortRate(perSecond)}/s`;
  if (total === null) return joinFitting([amount(done), rate, clockTime(elapsedMs)], width);
  const share = total === 0 ? 1 : done / total;
  // Never 100 % before the end.
  const percent = `${String(Math.floor(share * 100)).padStart(3)}%`;
  const parts = [`${amount(done)}/${amount(total)}`, rate];
  if (isSteady && perSecond > 0 && done < total) {
    parts.push(`ETA ${clockTime(((total - done) / perSecond) * 1000)}`);
  }
  const text = parts.join('  ');
  const barWidth = Math.min(widestBar, width - percent.length - text.length - 4);
  if (barWidth < narrowestBar) return joinFitting([percent, ...parts], width);
  const filled = Math.floor(share * barWidth);
  return `${percent} [${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${text}`;
}

interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

interface Sample {
  atMs: number;
  done: number;
}

const redrawMs = 100;
const plainMs = 5_000;
const rateWindowMs = 10_000;
const eraseLine = '\r\u001b[2K';

/**
 * The progress of a long command, on stderr: a bar redrawn in place on a terminal, else a line every few seconds.
 * It draws only on progress, so no timer can outlive it.
 */
export class ProgressLine {
  readonly #stream: ProgressStream;
  readonly #isSilent: boolean;
  readonly #unit: ProgressUnit;
  readonly #nowMs: () => number;
  readonly #startedAtMs: number;
  #samples: Sample[];
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  constructor(
    options: {
      stream?: ProgressStream;
      isSilent?: boolean | undefined;
      unit?: ProgressUnit;
      nowMs?: () => number;
    } = {},
  ) {
    this.#stream = options.stream ?? process.stderr;
    this.#isSilent = options.isSilent ?? false;
    this.#unit = options.unit ?? 'things';
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#startedAtMs = this.#nowMs();
    this.#samples = [{ atMs: this.#startedAtMs, done: 0 }];
    // A first plain line without progress would say nothing.
    if (this.#stream.isTTY !== true) this.#drawnAtMs = this.#startedAtMs;
  }

  update({ done, total }: { done: number; total: number | null }): void {
    const atMs = this.#nowMs();
    const isTerminal = this.#stream.isTTY === true;
    this.#sample({ atMs, done });
    if (this.#isSilent || atMs - this.#drawnAtMs < (isTerminal ? redrawMs : plainMs)) return;
    this.#drawnAtMs = atMs;
    const width = isTerminal ? (this.#stream.columns || 80) - 1 : 100;
    const elapsedMs = atMs - this.#startedAtMs;
    const line = renderProgress({ done, total, elapsedMs, width, unit: this.#unit, ...this.#rate() });
    this.#stream.write(isTerminal ? `${eraseLine}${line}` : `${line.trimStart()}\n`);
    this.#isDrawn = isTerminal;
  }

  /** Clears the line for whatever is printed next. */
  end(): void {
    if (this.#isDrawn) this.#stream.write(eraseLine);
    this.#isDrawn = false;
  }

  #sample(sample: Sample): void {
    const last = this.#samples.at(-1);
    if (last && sample.atMs - last.atMs < redrawMs) return;
    this.#samples.push(sample);
    this.#samples = this.#samples.filter(({ atMs }) => sample.atMs - atMs <= rateWindowMs);
  }

  /** The rate over the last seconds. Steady: both halves of at least two seconds differ by less than half. */
  #rate(): { perSecond?: number; isSteady?: boolean } {
    const first = this.#samples[0];
    const middle = this.#samples[Math.floor(this.#samples.length / 2)];
    const last = this.#samples.at(-1);
    if (!first || !middle || !last || last.atMs === first.atMs) return {};
    const perSecond = rateBetween(first, last);
    const halves = [rateBetween(first, middle), rateBetween(middle, last)];
    const isSteady = halves.every((rate) => Math.abs(rate - perSecond) <= perSecond / 2);
    return { perSecond, isSteady: isSteady && last.atMs - first.atMs >= steadyAfterMs };
  }
}

function rateBetween(from: Sample, to: Sample): number {
  return to.atMs === from.atMs ? 0 : ((to.done - from.done) / (to.atMs - from.atMs)) * 1000;
}

/** Drops what does not fit, the last first. */
function joinFitting(parts: string[], width: number): string {
  const shown = [...parts];
  while (shown.length > 1 && shown.join('  ').length > width) shown.pop();
  return shown.join('  ').slice(0, Math.max(0, width));
}

export function grouped(value: number): string {
  return Math.floor(value).toLocaleString('en-US');
}

/** 950 B, 1.2 kB, 34.6 MB, 2.0 GB. */
export function shortBytes(bytes: number): string {
  let value = Math.max(0, Math.round(bytes));
  if (value < 1000) return `${value} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let unit = '';
  // 999.95 and more would be rounded to a thousand of the unit.
  while (value >= 999.95 && units.length > 0) {
    value /= 1000;
    unit = units.shift() ?? unit;
  }
  return `${value.toFixed(1)} ${unit}`;
}

function shortRate(perSecond: number): string {
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond));
}

/** 0:17, 12:05, 3:00:00. */
function clockTime(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const tail = String(seconds % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}
