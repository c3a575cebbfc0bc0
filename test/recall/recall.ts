import { type Query, type QueryKind, queryKinds } from './corpus.ts';

export const modes = ['vector', 'text', 'hybrid'] as const;
export type Mode = (typeof modes)[number];

/** Of one mode and one kind of query: how many find what they look for as the first, and among the first five. */
export interface Recall {
  mode: Mode;
  kind: QueryKind;
  queries: number;
  first: number;
  amongFive: number;
  /** What was not among the first five. */
  missed: string[];
}

export const resultsAskedFor = 5;

/** `search` returns the texts of the best chunks, best first. */
export async function measureRecall(
  queries: readonly Query[],
  search: (query: string, mode: Mode) => Promise<{ text: string }[]>,
  measuredModes: readonly Mode[] = modes,
): Promise<Recall[]> {
  const measured: Recall[] = [];
  for (const mode of measuredModes) {
    for (const kind of queryKinds) {
      const asked = queries.filter((each) => each.kind === kind);
      const places: number[] = [];
      for (const query of asked) places.push(placeOf(query, await search(query.query, mode)));
      measured.push({
        mode,
        kind,
        queries: asked.length,
        first: share(places, 1),
        amongFive: share(places, resultsAskedFor),
        missed: asked.filter((_, at) => (places[at] ?? 0) >= resultsAskedFor).map(({ query }) => query),
      });
    }
  }
  return measured;
}

/** Rows for `console.table`. */
export function tableOf(measured: readonly Recall[]): Record<string, Record<string, number>> {
  return Object.fromEntries(
    measured.map(({ mode, kind, queries, first, amongFive }) => [
      `${mode}, ${kind}`,
      { queries, 'recall@1': first, 'recall@5': amongFive },
    ]),
  );
}

/** Infinite if it was not found. Formats break lines in different places. */
function placeOf({ answer }: Query, results: readonly { text: string }[]): number {
  const wanted = flattened(answer);
  const at = results.findIndex(({ text }) => flattened(text).includes(wanted));
  return at === -1 ? Number.POSITIVE_INFINITY : at;
}

function share(places: readonly number[], limit: number): number {
  return places.filter((place) => place < limit).length / places.length;
}

/** Signs that Markdown escapes are the same signs. */
export function flattened(text: string): string {
  return text.replace(/\\(?=[\p{P}\p{S}])/gu, '').replace(/\s+/g, ' ');
}
