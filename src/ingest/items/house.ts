import { defineHouse } from '../../kernel/house/house.ts';
import { readerErrors } from '../../lib/rows/errors.ts';
import { itemErrors } from './errors.ts';
import { exportErrors } from './export/errors.ts';
import { imageErrors, imageFailures } from './images/errors.ts';
import type { ProcessorDefinition } from './processing/processors/custom/define-processor.ts';
import { processorErrors } from './processing/processors/errors.ts';
import { findProcessorProblems } from './processing/processors/registry.ts';
import { findProviderProblems, providersPage } from './providers/configured-providers.ts';
import { itemChecks, itemSettings, processorsPage } from './settings.ts';

/** Rows and images, enriched one by one through slow and flaky providers. */
export const itemHouse = defineHouse({
  name: 'items',
  settings: itemSettings,
  checks: itemChecks,
  definitions: {
    processors: { findProblems: findProcessorProblems, page: processorsPage },
    providers: { findProblems: findProviderProblems, page: providersPage },
  },
  errors: [
    { title: 'Items', catalogue: itemErrors },
    { title: 'Files of rows', catalogue: readerErrors },
    { title: 'Images', catalogue: imageErrors },
    { title: 'Failed images', catalogue: imageFailures },
    { title: 'Processors', catalogue: processorErrors },
    { title: 'Exports', catalogue: exportErrors },
  ],
  commands: { items: async () => (await import('./commands/items.ts')).addItemsCommand },
  takeoverMs: ({ lockFloorMs }) => lockFloorMs,
  open: async (ground, config) => {
    const { openItemHouse } = await import('./open.ts');
    const customProcessors = ground.definitions('processors') as readonly ProcessorDefinition[];
    const catalogs = ground.doors.later('catalogs');
    const providers = ground.definitions('providers');
    const house = openItemHouse({
      ...config,
      ...ground,
      catalogs,
      bounds: config,
      customProcessors,
      providers,
    });
    ground.doors.offer('rows', house.door);
    return house;
  },
});
