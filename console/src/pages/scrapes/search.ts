import { oneOf, searchParser, text } from '../../list-state.ts';

export interface ScrapesSearch {
  q: string;
}

export const scrapesSearch = searchParser<ScrapesSearch>({
  q: text(),
});

export const handoffStatuses = ['queued', 'running', 'completed', 'failed'] as const;

export interface ScrapeSearch {
  tab: 'runs' | 'handoffs' | 'references';
  status: (typeof handoffStatuses)[number];
  run: string;
}

export const scrapeSearch = searchParser<ScrapeSearch>({
  tab: oneOf(['runs', 'handoffs', 'references']),
  status: oneOf(handoffStatuses),
  run: text(),
});
