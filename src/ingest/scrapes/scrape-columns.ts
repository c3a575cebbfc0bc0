import { trustedSql } from '../../lib/postgres/sql.ts';

/** A `ScrapeSource`, from `scrape_sources s`. */
export const sourceColumns = trustedSql(`
  s.tenant_id as "tenantId", s.source, s.mode, s.kind, s.kb_id as "kbId", s.url, s.settings,
  s.created_by as "createdBy", s.created_at as "createdAt", s.updated_at as "updatedAt"`);

/** A `ScrapeRun`, from `scrape_runs u`. */
export const runColumns = trustedSql(`
  u.tenant_id as "tenantId", u.scrape_run_id as "scrapeRunId", u.source, u.mode, u.status, u.job_id as "jobId",
  u.references_persisted as persisted, u.references_created as created, u.references_changed as changed,
  u.pages_failed as "pagesFailed", u.handoff_queued_count as queued, u.handoff_completed_count as completed,
  u.handoff_failed_count as failed, u.handoff_skipped_count as skipped, u.handoff_notice as "handoffNotice",
  u.is_complete as "isComplete", u.error_code as "errorCode", u.error_text as "errorText",
  u.created_by as "createdBy", u.started_at as "startedAt", u.finished_at as "finishedAt",
  u.updated_at as "updatedAt"`);

/** A `ScrapeReference`, from `scrape_references r`. */
export const referenceColumns = trustedSql(`
  r.tenant_id as "tenantId", r.reference_id as "referenceId", r.source, r.external_id as "externalId", r.url, r.title,
  r.media_type as "mediaType", r.metadata, r.payload_hash as "payloadHash",
  octet_length(r.content) as "contentBytes", r.scrape_run_id as "scrapeRunId", r.gone_at as "goneAt",
  r.created_at as "createdAt", r.updated_at as "updatedAt"`);

/** A `Handoff`, from `ingestion_handoffs h`. */
export const handoffColumns = trustedSql(`
  h.tenant_id as "tenantId", h.handoff_id as "handoffId", h.source, h.kb_id as "kbId",
  h.reference_id as "referenceId", h.payload_hash as "payloadHash", h.status, h.reason_code as "reasonCode",
  h.reason_text as "reasonText", h.attempts, h.job_id as "jobId", h.scrape_run_id as "scrapeRunId",
  h.created_by as "createdBy", h.created_at as "createdAt", h.updated_at as "updatedAt"`);
