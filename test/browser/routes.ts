import type { Seeded } from './seed.ts';

/** Every view of the console with something in it: the name of its picture and its address. */
export function viewsOf(seeded: Seeded): { name: string; path: string }[] {
  return [
    { name: 'overview', path: '/' },
    { name: 'jobs', path: '/jobs' },
    { name: 'job', path: `/jobs/${seeded.deadLetter}` },
    { name: 'items', path: '/items' },
    { name: 'items-new', path: '/items/new' },
    { name: 'items-job', path: `/items/${seeded.itemsJob}` },
    { name: 'items-job-control', path: `/items/${seeded.itemsJob}?tab=control` },
    { name: 'items-job-pending', path: `/items/${seeded.waitingJob}?tab=pending` },
    { name: 'pending', path: '/pending' },
    { name: 'uploads', path: '/uploads' },
    { name: 'uploads-new', path: '/uploads/new' },
    { name: 'upload', path: `/uploads/${seeded.goodUpload}` },
    { name: 'upload-failed', path: `/uploads/${seeded.badUpload}` },
    { name: 'upload-held', path: `/uploads/${seeded.heldUpload}` },
    { name: 'knowledge', path: '/knowledge' },
    { name: 'knowledge-new', path: '/knowledge/new' },
    { name: 'knowledge-base', path: `/knowledge/${seeded.kbId}` },
    { name: 'knowledge-search', path: `/knowledge/${seeded.kbId}?q=send+something+back` },
    { name: 'scrapes', path: '/scrapes' },
    { name: 'scrape-source', path: `/scrapes/${seeded.source}` },
    { name: 'connectors', path: '/connectors' },
    { name: 'connector', path: `/connectors/${seeded.connectorId}` },
    { name: 'dead-letters', path: '/dead-letters' },
    { name: 'events', path: '/events' },
    { name: 'webhooks', path: `/webhooks?endpoint=${seeded.webhookId}` },
    { name: 'settings', path: '/settings' },
    { name: 'settings-users', path: '/settings?tab=users' },
    { name: 'settings-keys', path: '/settings?tab=keys' },
    { name: 'settings-tenant', path: '/settings?tab=tenant' },
  ];
}
