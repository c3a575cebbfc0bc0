import pino, { type Logger } from 'pino';
import type { Registry } from 'prom-client';

/** A logger whose lines a test can read. */
export function keptLog(): { logger: Logger; logged: Record<string, unknown>[] } {
  const logged: Record<string, unknown>[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  return { logger, logged };
}

/** The value of a series as a scrape shows it; 0 when it is not there. */
export async function metricIn(registry: Registry, series: string): Promise<number> {
  const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

/** The counts of an items event. */
export interface Told {
  type: string;
  data: { counts?: Record<string, number>; by_class?: Record<string, number>; open?: number };
}

export function sumOf(events: readonly Told[], type: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { data } of events.filter((event) => event.type === type)) {
    for (const [name, count] of Object.entries(data.counts ?? data.by_class ?? {})) {
      sums[name] = (sums[name] ?? 0) + count;
    }
  }
  return sums;
}
