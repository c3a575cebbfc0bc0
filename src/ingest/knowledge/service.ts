import type { Files } from '../../kernel/files/types.ts';
import type { BeforeCommit } from '../../kernel/jobs/dispatch/service.ts';
import type { SecretLender } from '../../kernel/secrets/types.ts';
import type { Role } from '../../kernel/tenancy/types.ts';
import type { SluiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { chunkerOf, embedderOf, type KnowledgeChange, type KnowledgeForm, rerankerOf } from './bases/form.ts';
import { countSources } from './bases/overview-store.ts';
import type { EmbedderSettings } from './embedders/embedder.ts';
import { openAiUse } from './embedders/open-embedder.ts';
import { knowledgeErrors } from './errors.ts';
import { rerankerUse } from './rerankers/open-reranker.ts';
import type { RerankerSettings } from './rerankers/reranker.ts';
import { listBusyJobs } from './run/store.ts';
import { type SourceForm, sourceSettingsOf } from './sources/source-form.ts';
import { secretsOfSource, useOfSource } from './sources/source-secrets.ts';
import {
  countKbs,
  deleteSource,
  findKb,
  findSource,
  insertKb,
  insertSource,
  lockKb,
  updateKb,
} from './store.ts';
import {
  defaultLanguage,
  type KbKey,
  type KnowledgeBase,
  type KnowledgeSource,
  type SourceKey,
} from './types.ts';

export interface KnowledgeLimits {
  maxBases: number;
  maxSources: number;
  maxFiles: number;
}

export interface KnowledgeServiceDeps {
  db: Database;
  files: Files;
  limits: KnowledgeLimits;
  /** Folders below it may be sources; null: no folders. */
  folderRoot: string | null;
  secrets: SecretLender;
  /** Names of the embedders and rerankers that the config file defines. */
  customEmbedders: readonly string[];
  customRerankers?: readonly string[];
}

export async function createKb(
  deps: KnowledgeServiceDeps,
  { tenantId, createdBy, role }: { tenantId: string; createdBy: string; role: Role },
  form: KnowledgeForm,
  beforeCommit?: BeforeCommit<KnowledgeBase>,
): Promise<KnowledgeBase> {
  const kbId = form.kb_id ?? newId();
  const embedder = form.embedder ? embedderOf(form.embedder) : ({ provider: 'local' } as const);
  assertKnown(deps, embedder);
  await assertKey(deps, embedder, { tenantId, role });
  const reranker = rerankerOf(form.reranker ?? null);
  await assertReranker(deps, reranker, { tenantId, role });
  for (const [at, source] of form.sources.entries()) {
    await assertSourceSecrets(deps, source, { tenantId, role, pointer: `/sources/${at}` });
  }
  const chunker = chunkerOf(form.chunker, embedder);
  return deps.db.tenant(tenantId, async (tx) => {
    await assertRoomForKb(deps, tx, tenantId);
    const language = form.language ?? defaultLanguage;
    const kb = await insertKb(tx, {
      tenantId,
      kbId,
      name: form.name,
      chunker,
      embedder,
      reranker,
      language,
      createdBy,
    });
    if (!kb) throw await taken(tx, { tenantId, kbId });
    // Sources are listed and read by id. Ids that are a millisecond apart keep the order of the request.
    const nowMs = Date.now();
    await insertSource(tx, { tenantId, kbId, sourceId: newId(nowMs), type: 'files', settings: {} });
    for (const [at, source] of form.sources.entries()) {
      await insertForm(deps, tx, kb, { ...source, sourceId: newId(nowMs + 1 + at) });
    }
    await assertRoomForSources(deps, tx, kb);
    await beforeCommit?.(tx, kb);
    return kb;
  });
}

async function taken(tx: Tx, key: KbKey): Promise<SluiceError> {
  const isThere = (await findKb(tx, key)) !== null;
  return knowledgeErrors.raise.knowledge_base_exists(
    isThere
      ? `Knowledge base ${key.kbId} already exists`
      : `Knowledge base ${key.kbId} is being deleted; its id is free again once all its contents are deleted`,
  );
}

/** Counts without a lock: two requests at once may exceed the limit by one. */
async function assertRoomForKb({ limits }: KnowledgeServiceDeps, tx: Tx, tenantId: string): Promise<void> {
  if ((await countKbs(tx, tenantId)) < limits.maxBases) return;
  throw knowledgeErrors.raise.knowledge_limit_reached(
    `The tenant has ${limits.maxBases} knowledge bases, which is the limit (KNOWLEDGE_MAX_BASES)`,
    { details: { limit: limits.maxBases } },
  );
}

function assertKnown({ customEmbedders }: KnowledgeServiceDeps, embedder: EmbedderSettings): void {
  if (embedder.provider !== 'custom' || customEmbedders.includes(embedder.name)) return;
  throw knowledgeErrors.raise.knowledge_embedder_unknown(
    `There is no embedder ${JSON.stringify(embedder.name)}; defined are: ${customEmbedders.join(', ') || 'none'}`,
    { fields: [{ pointer: '/embedder/name', message: 'must be defined in sluice.config.mjs' }] },
  );
}

/** A key goes to the embedder's own host only. */
async function assertKey(
  { secrets }: KnowledgeServiceDeps,
  embedder: EmbedderSettings,
  who: { tenantId: string; role: Role },
): Promise<void> {
  if (embedder.provider !== 'openai' || embedder.apiKeySecret === null) return;
  const { apiKeySecret: name, baseUrl } = embedder;
  await secrets.assertUsable(
    { ...who, use: openAiUse },
    { name, urls: [baseUrl], pointer: '/embedder/api_key_secret' },
  );
}

/** It must exist, and its key go to its own host only. */
async function assertReranker(
  { secrets, customRerankers = [] }: KnowledgeServiceDeps,
  reranker: RerankerSettings | null,
  who: { tenantId: string; role: Role },
): Promise<void> {
  if (reranker?.provider === 'custom' && !customRerankers.includes(reranker.name)) {
    throw knowledgeErrors.raise.knowledge_reranker_unknown(
      `There is no reranker ${JSON.stringify(reranker.name)}; defined are: ${customRerankers.join(', ') || 'none'}`,
      { fields: [{ pointer: '/reranker/name', message: 'must be defined in sluice.config.mjs' }] },
    );
  }
  if (reranker?.provider !== 'endpoint' || reranker.apiKeySecret === null) return;
  await secrets.assertUsable(
    { ...who, use: rerankerUse },
    { name: reranker.apiKeySecret, urls: [reranker.url], pointer: '/reranker/api_key_secret' },
  );
}

export function getKb({ db }: { db: Database }, key: KbKey): Promise<KnowledgeBase> {
  return db.tenant(key.tenantId, (tx) => getKbIn(tx, key));
}

export async function getKbIn(tx: Tx, key: KbKey): Promise<KnowledgeBase> {
  return (await findKb(tx, key)) ?? missing(key);
}

function missing({ kbId }: KbKey): never {
  throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${kbId}`);
}

/** An active run keeps the settings that it started with. */
export async function changeKb(
  deps: KnowledgeServiceDeps,
  { role, ...key }: KbKey & { role: Role },
  change: KnowledgeChange,
): Promise<KnowledgeBase> {
  if (change.embedder) {
    await assertKey(deps, embedderOf(change.embedder), { tenantId: key.tenantId, role });
  }
  if (change.reranker) {
    await assertReranker(deps, rerankerOf(change.reranker), { tenantId: key.tenantId, role });
  }
  return deps.db.tenant(key.tenantId, async (tx) => {
    const before = (await lockKb(tx, key)) ?? missing(key);
    const embedder = change.embedder ? embedderOf(change.embedder) : before.embedder;
    const chunker = change.chunker ? chunkerOf(change.chunker, embedder) : before.chunker;
    assertKnown(deps, embedder);
    const { name, language } = { ...before, ...change };
    const reranker = change.reranker === undefined ? before.reranker : rerankerOf(change.reranker);
    return (await updateKb(tx, { ...key, name, chunker, embedder, reranker, language })) ?? missing(key);
  });
}

/** Throws if a run is active, waits for its next attempt or is being cleaned up: its data must not change meanwhile. */
export async function assertIdle(tx: Tx, key: KbKey): Promise<void> {
  const [jobId] = await listBusyJobs(tx, { ...key, exceptJobId: noJob });
  if (jobId === undefined) return;
  throw knowledgeErrors.raise.knowledge_base_busy(`Knowledge base ${key.kbId} has the active run ${jobId}`, {
    details: { active_job_id: jobId },
  });
}

const noJob = '00000000-0000-0000-0000-000000000000';

export async function addSource(
  deps: KnowledgeServiceDeps,
  { role, ...key }: KbKey & { role: Role },
  form: SourceForm,
  beforeCommit?: BeforeCommit<KnowledgeSource>,
): Promise<KnowledgeSource> {
  await assertSourceSecrets(deps, form, { tenantId: key.tenantId, role });
  return deps.db.tenant(key.tenantId, async (tx) => {
    if (!(await lockKb(tx, key))) missing(key);
    const source = await insertForm(deps, tx, key, { ...form, sourceId: newId() });
    await assertRoomForSources(deps, tx, key);
    await beforeCommit?.(tx, source);
    return source;
  });
}

/** Each goes to the host of its source only. */
async function assertSourceSecrets(
  { secrets }: KnowledgeServiceDeps,
  form: SourceForm,
  { tenantId, role, pointer = '' }: { tenantId: string; role: Role; pointer?: string },
): Promise<void> {
  const source = { type: form.type, settings: sourceSettingsOf(form) };
  for (const wanted of secretsOfSource(source)) {
    const user = { tenantId, role, use: useOfSource(source) };
    await secrets.assertUsable(user, { ...wanted, pointer: `${pointer}${wanted.pointer}` });
  }
}

function insertForm(
  { folderRoot }: KnowledgeServiceDeps,
  tx: Tx,
  { tenantId, kbId }: KbKey,
  { sourceId, ...form }: SourceForm & { sourceId: string },
): Promise<KnowledgeSource> {
  const isInFolder = form.type === 'folder' || (form.type === 'zip' && form.path !== undefined);
  if (isInFolder && folderRoot === null) throw noFolders();
  return insertSource(tx, {
    tenantId,
    kbId,
    sourceId,
    type: form.type,
    settings: sourceSettingsOf(form),
  });
}

function noFolders(): SluiceError {
  return knowledgeErrors.raise.knowledge_folder_refused(
    'No folder is configured on this server (KNOWLEDGE_FOLDER_ROOT)',
  );
}

async function assertRoomForSources({ limits }: KnowledgeServiceDeps, tx: Tx, key: KbKey): Promise<void> {
  // The source for files does not count.
  if ((await countSources(tx, key)) <= limits.maxSources + 1) return;
  throw knowledgeErrors.raise.knowledge_limit_reached(
    `A knowledge base may have ${limits.maxSources} sources (KNOWLEDGE_MAX_SOURCES)`,
    { details: { limit: limits.maxSources } },
  );
}

export function getSource({ db }: { db: Database }, key: SourceKey): Promise<KnowledgeSource> {
  return db.tenant(key.tenantId, (tx) => getSourceIn(tx, key));
}

async function getSourceIn(tx: Tx, key: SourceKey): Promise<KnowledgeSource> {
  await getKbIn(tx, key);
  const source = await findSource(tx, key);
  if (source) return source;
  throw knowledgeErrors.raise.knowledge_source_not_found(
    `Knowledge base ${key.kbId} has no source ${key.sourceId}`,
  );
}

/** The next run removes its documents. */
export function removeSource(deps: KnowledgeServiceDeps, key: SourceKey): Promise<void> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    if (!(await lockKb(tx, key))) missing(key);
    const { type } = await getSourceIn(tx, key);
    if (type === 'files') {
      throw knowledgeErrors.raise.knowledge_source_fixed(
        'Every knowledge base has a source for its files, which cannot be deleted; delete the files one by one',
      );
    }
    await assertIdle(tx, key);
    await deleteSource(tx, key);
  });
}
