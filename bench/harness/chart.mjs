// A small writer of bar charts: one panel per metric, bars for medians, whiskers for the range over the rounds.
import { format } from './figures.mjs';

const width = 760;
const labelWidth = 250;
const barsRight = width - 90;
const barHeight = 18;
const rowHeight = 28;
const panelTop = 34;
const ours = '#1f6f8b';
const others = '#b3bcc4';

/** A self-contained SVG: no fonts, scripts or images from elsewhere. */
export function chartOf({ bench, series }) {
  const panels = bench.metrics
    .filter(({ inChart }) => inChart !== false)
    .map((metric) => ({ metric, bars: barsOf(series, metric) }))
    .filter(({ bars }) => bars.length > 0);
  let top = 44;
  const parts = [];
  for (const { metric, bars } of panels) {
    parts.push(panelOf({ metric, bars, top }));
    top += panelTop + bars.length * rowHeight + 10;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" ` +
      `role="img" aria-label="${escapeXml(bench.title)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${width}" height="${top}" fill="#ffffff"/>`,
    `<text x="16" y="26" font-size="16" font-weight="600" fill="#1b2730">${escapeXml(bench.title)}</text>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

function barsOf(series, { key }) {
  return series
    .filter(({ summary }) => summary[key] !== null)
    .map(({ label, summary }) => ({ label, ...summary[key] }));
}

function panelOf({ metric, bars, top }) {
  const largest = Math.max(...bars.map(({ max }) => max), Number.MIN_VALUE);
  const scale = (value) => (Math.max(0, value) / largest) * (barsRight - labelWidth);
  const heading = `${metric.title} (${metric.better === 'less' ? 'less' : 'more'} is better)`;
  return [
    `<text x="16" y="${top + 16}" fill="#52616b">${escapeXml(heading)}</text>`,
    ...bars.map((bar, index) => barOf(bar, { scale, y: top + panelTop - 6 + index * rowHeight })),
  ].join('\n');
}

function barOf({ label, median, min, max }, { scale, y }) {
  const middle = y + barHeight / 2;
  const [from, to] = [min, max].map((value) => pixels(labelWidth + scale(value)));
  const length = pixels(scale(median));
  const fill = label.startsWith('Sluice') ? ours : others;
  const text = (x, content, more = '') =>
    `<text x="${x}" y="${middle + 4}" fill="#1b2730"${more}>${escapeXml(content)}</text>`;
  return [
    text(labelWidth - 8, label, ' text-anchor="end"'),
    `<rect x="${labelWidth}" y="${y}" width="${length}" height="${barHeight}" rx="2" fill="${fill}"/>`,
    `<path d="M${from} ${middle - 4}v8M${from} ${middle}H${to}M${to} ${middle - 4}v8" stroke="#1b2730" fill="none"/>`,
    text(to + 8, format(median)),
  ].join('\n');
}

function pixels(value) {
  return Math.round(value * 10) / 10;
}

function escapeXml(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);
}
