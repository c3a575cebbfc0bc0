// Contenders take turns: A B C A B C …, so that a slow minute of the machine hits all of them alike.
import { format, median } from './figures.mjs';

/** Measures each contender once per round; returns one series per contender. */
export async function interleave(contenders, { rounds, metrics }) {
  const series = contenders.map(({ label, note, settings }) => ({ label, note, settings, rounds: [] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, contender] of contenders.entries()) {
      const figures = await contender.measure(round);
      for (const { key } of metrics) {
        if (!Number.isFinite(figures[key]) && figures[key] !== null) {
          throw new Error(`${contender.label} gave no figure "${key}" in round ${round}`);
        }
      }
      series[index].rounds.push(figures);
      const shown = metrics.map(({ key, title }) => `${title} ${shownFigure(figures[key])}`).join(', ');
      console.log(`  round ${round}  ${contender.label}: ${shown}`);
    }
  }
  return series.map((entry) => ({ ...entry, summary: summarise(entry.rounds, metrics) }));
}

/** Per metric: median and range over the rounds; null where the metric does not apply to the contender. */
function summarise(rounds, metrics) {
  return Object.fromEntries(
    metrics.map(({ key }) => {
      const values = rounds.map((figures) => figures[key]).filter((value) => value !== null);
      if (values.length === 0) return [key, null];
      return [key, { median: median(values), min: Math.min(...values), max: Math.max(...values) }];
    }),
  );
}

function shownFigure(value) {
  return value === null ? '–' : format(value);
}
