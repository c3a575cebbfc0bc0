import { useElementSize } from '@mantine/hooks';
import { type PointerEvent, useState } from 'react';
import { clockText } from './moments.ts';
import { shortCount } from './number.ts';
import { axisTicks, nearest, type Point } from './scale.ts';
import type { Tone } from './status.ts';

export interface Series {
  label: string;
  points: readonly Point[];
  tone: Tone;
  /** Drawn with dashes, such as a target. */
  isTarget?: boolean;
}

interface LineChartProps {
  /** What is drawn; the sentence for screen readers. */
  label: string;
  /** Of the values: "rows/min", "ms". */
  unit: string;
  series: readonly Series[];
  height?: number;
  /** How a value is written; counts in short without it. */
  format?: (value: number) => string;
  /** How a value is written where there is room for all of it; like `format` without it. */
  valueText?: (value: number) => string;
  /** How a time is written; as a clock without it. */
  timeText?: (at: number) => string;
}

const clockOf = (at: number) => clockText(new Date(at), new Date());

const edge = { left: 44, right: 8, top: 8, bottom: 20 };

/** Lines over time with labelled axes that begin at zero; pointing at it reads the values at that time. */
export function LineChart(props: LineChartProps) {
  const { label, unit, series, height = 140, format = shortCount } = props;
  const { valueText = format, timeText = clockOf } = props;
  const { ref, width: measured } = useElementSize();
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const width = Math.max(200, measured || 480);
  const frame = frameOf(series, { width, height });
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const { left } = event.currentTarget.getBoundingClientRect();
    setPointedAt(frame.timeAt(event.clientX - left));
  };
  return (
    <figure className="chart" ref={ref} aria-label={label}>
      <figcaption>
        {series.map((line) => (
          <Legend key={line.label} line={line} pointedAt={pointedAt} format={valueText} />
        ))}
        <span className="dim">
          {unit}
          {pointedAt === null ? '' : ` at ${timeText(pointedAt)}`}
        </span>
      </figcaption>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={summaryOf(series, { unit, format: valueText })}
        onPointerMove={point}
        onPointerLeave={() => setPointedAt(null)}
      >
        <Axes frame={frame} width={width} height={height} format={format} timeText={timeText} />
        {series.map((line) => (
          <polyline
            key={line.label}
            data-tone={line.tone}
            data-target={line.isTarget || undefined}
            points={line.points.map(({ at, value }) => `${frame.x(at)},${frame.y(value)}`).join(' ')}
          />
        ))}
        {pointedAt === null ? null : (
          <line
            className="chart-cursor"
            x1={frame.x(pointedAt)}
            x2={frame.x(pointedAt)}
            y1={edge.top}
            y2={height - edge.bottom}
          />
        )}
      </svg>
    </figure>
  );
}

function Legend(props: { line: Series; pointedAt: number | null; format: (value: number) => string }) {
  const { line, pointedAt, format } = props;
  const shown = pointedAt === null ? (line.points.at(-1) ?? null) : nearest(line.points, pointedAt);
  return (
    <span className="chart-legend" data-tone={line.tone} data-target={line.isTarget || undefined}>
      {line.label} <b className="num">{shown === null ? '–' : format(shown.value)}</b>
    </span>
  );
}

type Frame = ReturnType<typeof frameOf>;

interface AxesProps {
  frame: Frame;
  width: number;
  height: number;
  format: (value: number) => string;
  timeText: (at: number) => string;
}

function Axes({ frame, width, height, format, timeText }: AxesProps) {
  return (
    <g className="chart-axes">
      {frame.ticks.map((tick) => (
        <g key={tick}>
          <line x1={edge.left} x2={width - edge.right} y1={frame.y(tick)} y2={frame.y(tick)} />
          <text x={edge.left - 6} y={frame.y(tick) + 4} textAnchor="end">
            {format(tick)}
          </text>
        </g>
      ))}
      {frame.times.map((at, index) => (
        <text
          key={at}
          x={frame.x(at)}
          y={height - 5}
          textAnchor={(['start', 'middle', 'end'] as const)[index]}
        >
          {timeText(at)}
        </text>
      ))}
    </g>
  );
}

function frameOf(series: readonly Series[], { width, height }: { width: number; height: number }) {
  const all = series.flatMap((line) => line.points);
  const from = all.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const to = all.reduce((most, { at }) => Math.max(most, at), Number.NEGATIVE_INFINITY);
  const ticks = axisTicks(all.reduce((most, { value }) => Math.max(most, value), 0));
  const top = ticks.at(-1) ?? 1;
  const span = Math.max(1, to - from);
  const innerWidth = width - edge.left - edge.right;
  const innerHeight = height - edge.top - edge.bottom;
  return {
    ticks,
    times: all.length === 0 ? [] : [from, from + span / 2, to],
    x: (at: number) => edge.left + ((at - from) / span) * innerWidth,
    y: (value: number) => edge.top + (1 - value / top) * innerHeight,
    timeAt: (x: number) => from + Math.min(1, Math.max(0, (x - edge.left) / innerWidth)) * span,
  };
}

function summaryOf(
  series: readonly Series[],
  { unit, format }: { unit: string; format: (value: number) => string },
): string {
  const lines = series.map(({ label, points }) => {
    const values = points.map(({ value }) => value);
    if (values.length === 0) return `${label}: nothing yet`;
    const [least, most] = [format(Math.min(...values)), format(Math.max(...values))];
    return `${label}: ${format(values.at(-1) ?? 0)} now, between ${least} and ${most}`;
  });
  return `${lines.join('; ')} (${unit})`;
}
