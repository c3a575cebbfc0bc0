/** A request body for each of the operations that people call first. A test sends every one of them. */
export const requestExamples: Record<string, unknown> = {
  createTenant: { tenant_id: 'northwind', name: 'Northwind Traders', plan: 'growth' },
  updateTenant: { name: 'Northwind Traders', plan: 'enterprise' },
  createWorkspace: { name: 'Marketing' },
  createApiKey: { name: 'nightly import', role: 'service' },
  requeueDeadLetters: { pipeline: 'sync', limit: 50 },
  putProvider: { rate_per_second: 20, concurrency: 8 },
  createKnowledgeBase: { kb_id: 'handbook', name: 'Handbook' },
  createKnowledgeBaseSource: {
    type: 'markdown',
    title: 'Pump',
    content: '# Pump\n\nOil the pump every two weeks.',
  },
  searchKnowledgeBase: { query: 'how often is the pump oiled', mode: 'hybrid', limit: 5 },
  putScrapingSource: { mode: 'push', kb_id: 'handbook' },
  syncScraping: {
    references: [
      {
        external_id: 'page-1',
        url: 'https://example.com/pump',
        title: 'Pump',
        content: 'Oil the pump every two weeks.',
      },
    ],
  },
  putSecret: { value: 'the key that the provider gave you', hosts: ['api.example.com'] },
  createWebhook: { url: 'https://example.com/hooks/sluice', event_types: ['job.completed'] },
  previewConnectors: { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' },
};
