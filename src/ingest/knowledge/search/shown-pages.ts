/** A passage is shorter than this many pages, unless most of them are empty. */
const mostPages = 20;

/** As the API returns it: the first page, and all of them. Nothing for a document without pages. */
export function shownPages(from: number | null, to: number | null): { page?: number; pages?: number[] } {
  if (from === null) return {};
  const length = Math.min(mostPages, (to ?? from) - from + 1);
  return { page: from, pages: Array.from({ length }, (_, index) => from + index) };
}
