import { defineHouse } from '../../kernel/house/house.ts';
import { scrapeErrors, scrapeFailures } from './errors.ts';
import { scrapeSettings } from './settings.ts';

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
    const knowledge = ground.doors.later('referenceIntake');
    return openScrapeHouse({ ...config, ...ground, knowledge });
  },
});
