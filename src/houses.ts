import type { House } from './kernel/house/house.ts';

/** Every house of this installation. A new one is a folder in src/ingest and a line here; nothing else names them. */
export const houses: readonly House[] = [
  (await import('./ingest/items/house.ts')).itemHouse,
  (await import('./ingest/catalog/house.ts')).catalogHouse,
  (await import('./ingest/uploads/house.ts')).uploadHouse,
  (await import('./ingest/pulls/house.ts')).pullHouse,
  (await import('./ingest/connectors/house.ts')).connectorHouse,
  (await import('./ingest/knowledge/house.ts')).knowledgeHouse,
  (await import('./ingest/scrapes/house.ts')).scrapeHouse,
  (await import('./ingest/adapters/house.ts')).adapterHouse,
  (await import('./ingest/own/house.ts')).ownHouse,
  (await import('./ingest/demo/house.ts')).demoHouse,
];
