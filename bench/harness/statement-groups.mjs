// Which part of the program a statement belongs to, by the tables and functions that it names; the first match counts.
const groups = [
  ['transactions', /^(begin|commit|rollback)\b/i],
  ['context', /^select set_config\(/i],
  ['wake-up', /pg_notify|^(un)?listen/i],
  [
    'indexing',
    /\b(embeddings_index|knowledge_\w+|open_reference_run|find_reference_intake|hold_generation|adopt_reference_documents)\b/i,
  ],
  [
    'scrapes',
    /\b(scrape_\w+|ingestion_handoffs|open_ingestion_handoffs|find_handed_reference|crawl_frontier)\b/i,
  ],
  ['items', /\b(item_jobs|job_items|search_events|move_item_counts|\w+_items(_at_once)?\()/i],
  ['webhooks', /\bwebhook\w*|\bdeliveries\b/i],
  ['upkeep', /\bupkeep_tasks\b/i],
  ['requests', /\b(idempotency_keys|api_keys|sessions|users|workspaces|tenant_signing|erased_tenants)\b/i],
  [
    'kernel',
    /\b(ingestion_jobs|claim_jobs|workers|tenants|tenant_\w+|circuit_breakers|rate_limits|pg_locks)\b/i,
  ],
  ['events', /\bevents?\b/i],
];

export function groupOf(query) {
  return groups.find(([, pattern]) => pattern.test(query.trim()))?.[0] ?? 'other';
}

/** Sums per group, the costliest first. */
export function byGroup(statements) {
  const sums = new Map();
  for (const { query, calls, ms, planMs, walBytes } of statements) {
    const group = groupOf(query);
    const sum = sums.get(group) ?? { group, calls: 0, ms: 0, planMs: 0, walBytes: 0 };
    sum.calls += calls;
    sum.ms += ms;
    sum.planMs += planMs;
    sum.walBytes += walBytes;
    sums.set(group, sum);
  }
  return [...sums.values()].sort((a, b) => b.ms - a.ms);
}
