import { useQuery } from '@tanstack/react-query';

export interface ErrorWords {
  /** What it is, as a sentence. */
  title: string;
  /** What to do about it. */
  next: string;
}

/** The server's own catalogue, as it serves it to people: `### code`, a line with the title, a line with what to do. */
export function parseErrorCatalogue(markdown: string): Map<string, ErrorWords> {
  const entries = markdown.split(/^### /m).slice(1);
  return new Map(
    entries.flatMap((entry): [string, ErrorWords][] => {
      const [code, titleLine, ...rest] =
        entry
          .split(/^#{1,2} /m)[0]
          ?.split(/\n\s*\n/)
          .map((paragraph) => paragraph.trim().replaceAll(/\s*\n\s*/g, ' ')) ?? [];
      if (!code || !titleLine) return [];
      const title = titleLine.replace(/\s*\([^()]*\)$/, '');
      return [[code, { title, next: rest.join(' ').trim() }]];
    }),
  );
}

/** The words for the error code of a job; null while they are loading, and for codes of other systems. */
export function useErrorWords(code: string | null): ErrorWords | null {
  const catalogue = useQuery({
    queryKey: ['me', 'error-catalogue'],
    queryFn: async ({ signal }) => {
      const response = await fetch('/docs/errors.md', { signal });
      if (!response.ok) throw new Error(`The list of errors could not be read: ${response.status}`);
      return parseErrorCatalogue(await response.text());
    },
    enabled: code !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return code === null ? null : (catalogue.data?.get(code) ?? null);
}
