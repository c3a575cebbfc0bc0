import { z } from 'zod';
import { shownAs, timestamp } from '../../kernel/http/replies.ts';
import { defaultCrawlSettings } from './crawl/steps.ts';
import type { RunWithHandoffs } from './service.ts';
import {
  crawlKinds,
  type Handoff,
  handoffReasons,
  handoffStatuses,
  runStatuses,
  type ScrapeReference,
  type ScrapeRun,
  type ScrapeSource,
  scrapeModes,
} from './types.ts';

const runSummary = z.object({
  scrape_run_id: z.uuid(),
  status: z.enum(runStatuses),
  started_at: timestamp,
  finished_at: timestamp.nullable(),
});

export const sourceReply = z
  .object({
    source: z.string(),
    mode: z.enum(scrapeModes),
    kind: z.enum(crawlKinds).nullable(),
    kb_id: z.string(),
    url: z.string().nullable(),
    max_pages: z.int().nullable(),
    max_depth: z.int().nullable(),
    include: z.array(z.string()),
    exclude: z.array(z.string()),
    sitemap: z.boolean().nullable(),
    every_hours: z.number().nullable().describe('How often the crawl starts by itself'),
    next_crawl_at: timestamp.nullable(),
    last_run: runSummary.nullable(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ScrapeSource' });

export function renderSource(
  source: ScrapeSource,
  lastRun: ScrapeRun | null = null,
): z.output<typeof sourceReply> {
  const { maxPages, maxDepth, include, exclude, sitemap } = { ...defaultCrawlSettings, ...source.settings };
  const isCrawl = source.mode === 'crawl';
  return {
    ...shownAs(sourceReply, source),
    max_pages: isCrawl ? maxPages : null,
    max_depth: isCrawl && source.kind === 'website' ? maxDepth : null,
    include: isCrawl ? include : [],
    exclude: isCrawl ? exclude : [],
    sitemap: isCrawl && source.kind === 'website' ? sitemap : null,
    last_run: lastRun && shownAs(runSummary, lastRun),
  };
}

const counts = {
  references_persisted: z.int(),
  references_created: z.int(),
  references_changed: z.int(),
  handoff_queued_count: z.int(),
  handoff_completed_count: z.int(),
  handoff_failed_count: z.int(),
  handoff_skipped_count: z.int(),
  handoff_notice: z
    .string()
    .nullable()
    .describe('Why nothing was handed over and all hand-off counts are 0: hand-offs are disabled'),
};

export const syncReply = z
  .object({
    scrape_run_id: z.uuid(),
    source: z.string(),
    mode: z.enum(scrapeModes),
    status: z.enum(runStatuses),
    job_id: z.uuid().nullable().describe('Crawls only'),
    ...counts,
  })
  .meta({ id: 'ScrapeSync' });

export function renderSync(run: ScrapeRun): z.output<typeof syncReply> {
  return {
    scrape_run_id: run.scrapeRunId,
    source: run.source,
    mode: run.mode,
    status: run.status,
    job_id: run.jobId,
    references_persisted: run.persisted,
    references_created: run.created,
    references_changed: run.changed,
    handoff_queued_count: run.queued,
    handoff_completed_count: run.completed,
    handoff_failed_count: run.failed,
    handoff_skipped_count: run.skipped,
    handoff_notice: run.handoffNotice,
  };
}

export const runReply = z
  .object({
    ...syncReply.shape,
    pages_failed: z.int().describe('Crawls only'),
    is_complete: z.boolean().nullable().describe('Crawls only: all pages were visited'),
    delay_ms: z
      .int()
      .nullable()
      .describe('Crawls only: the pause between two requests, as robots.txt asks for it'),
    paused_ms: z.int().nullable().describe('Crawls only: how long Retry-After has held the crawl up'),
    error_code: z.string().nullable(),
    error_text: z.string().nullable(),
    created_by: z.string(),
    started_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'ScrapeRun' });

export function renderRun(run: ScrapeRun): z.output<typeof runReply> {
  return { ...shownAs(runReply, run), ...renderSync(run) };
}

const handoffsNow = z
  .object({ queued: z.int(), running: z.int(), completed: z.int(), failed: z.int() })
  .nullable()
  .describe('Current state of its hand-offs; null while hand-offs are disabled');

export const runWithHandoffsReply = z
  .object({ ...runReply.shape, handoffs: handoffsNow })
  .meta({ id: 'ScrapeRunWithHandoffs' });

export function renderRunWithHandoffs(found: RunWithHandoffs): z.output<typeof runWithHandoffsReply> {
  return { ...renderRun(found.run), handoffs: found.handoffs };
}

export const referenceReply = z
  .object({
    reference_id: z.uuid(),
    external_id: z.string(),
    url: z.string(),
    title: z.string(),
    media_type: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    payload_hash: z.string(),
    content_bytes: z.int(),
    scrape_run_id: z.uuid().describe('The last run that found the reference'),
    gone_at: timestamp.nullable().describe('When the site reported that the page no longer exists'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ScrapeReference' });

export function renderReference(reference: ScrapeReference): z.output<typeof referenceReply> {
  return shownAs(referenceReply, reference);
}

const handoffReply = z
  .object({
    handoff_id: z.uuid(),
    reference_id: z.uuid(),
    payload_hash: z.string(),
    status: z.enum(handoffStatuses),
    reason_code: z.enum(handoffReasons),
    reason_text: z.string().nullable(),
    attempts: z.int(),
    job_id: z.uuid().nullable(),
    kb_id: z.string(),
    scrape_run_id: z.uuid(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'IngestionHandoff' });

export const handoffListReply = z.object({
  data: z.array(handoffReply),
  total: z.int().describe('Number of matching hand-offs on all pages'),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
});

export function renderHandoff(handoff: Handoff): z.output<typeof handoffReply> {
  return shownAs(handoffReply, handoff);
}
