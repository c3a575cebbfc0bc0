import { defineHouse } from '../../kernel/house/house.ts';
import { scrapeErrors, scrapeFailures } from './errors.ts';
import { scrapeSettings } from './settings.ts';
import type { KnowledgeDoor } from './types.ts';

/** Scraped references, each handed over to a knowledge base once. */
export const scrapeHouse = defineHouse({
  name: 'scrapes',
  settings: scrapeSettings,
  errors: [
    { title: 'Scrapes', catalogue: scrapeErrors },
    { title: 'Failed scrapes', catalogue: scrapeFailures },
  ],
  commands: { scrape: async () => (await import('./commands/scrape.ts')).addScrapeCommand },
  open: async (ground, config) => {
    const { openScrapeHouse } = await import('./open.ts');
    const { createReferenceReader } = await import('./references/reader.ts');
    ground.doors.offer('references', createReferenceReader(ground.db));
    const door = () => ground.doors.get('referenceIntake');
    const knowledge: KnowledgeDoor = {
      admit: (tx, key) => door().admit(tx, key),
      madeAt: (tx, key) => door().madeAt(tx, key),
      readPage: (page, signal) => door().readPage(page, signal),
    };
    return openScrapeHouse({ ...config, ...ground, knowledge });
  },
});
