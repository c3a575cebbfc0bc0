import { z } from 'zod';
import { unparkJob } from '../../../kernel/jobs/shared/shared-store.ts';
import { findActive } from '../../../kernel/jobs/store.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import { isUsableId } from '../../../kernel/tenancy/types.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { isSameSecret } from '../../../lib/same-secret.ts';
import type { AirbyteClient } from '../airbyte/types.ts';
import { canonicalConnectionId } from '../connection-id.ts';
import { connectorErrors } from '../errors.ts';
import { listEnrolled, saveNotice } from '../store.ts';
import { type ConnectorKey, type Notice, pipelineName } from '../types.ts';
import { isConfigError } from './notice.ts';
import { hurryRetry } from './run-store.ts';

const words = z.string().catch('');
const count = z.number().int().nonnegative().nullish().catch(null);

/** The useful part of what Airbyte sends. It is only a hint: what does not fit is ignored, not refused. */
const noticeBody = z.object({
  data: z.object({
    connection: z.object({ id: z.string().refine(isUsableId) }),
    // Beyond 2^53 it is not a safe integer, but still a hint.
    jobId: z.union([z.number(), z.string().regex(/^\d{1,19}$/)]).transform(String),
    success: z.boolean().nullish().catch(null),
    errorMessage: words.nullish(),
    errorType: words.nullish(),
    recordsCommitted: count,
    bytesCommitted: count,
  }),
});

export function assertHookSecret(given: string, secret: string): void {
  if (isSameSecret(given, secret)) return;
  throw connectorErrors.raise.airbyte_hook_unknown('There is no webhook at this address');
}

export interface NoticeDeps {
  db: Database;
  wake: WakeUp;
  /** It knows the secrets that a connector's error may quote. */
  client: AirbyteClient | null;
}

/**
 * Records what Airbyte says about a run and polls it at once instead of later. Only Airbyte's API decides whether
 * it is true. Returns whether it was about a known connector.
 */
export async function takeNotice(deps: NoticeDeps, body: unknown): Promise<boolean> {
  const parsed = noticeBody.safeParse(body);
  if (!parsed.success) return false;
  const { connection, ...said } = parsed.data.data;
  const [connector] = await deps.db.kernel((tx) =>
    listEnrolled(tx, [connection.id, canonicalConnectionId(connection.id)]),
  );
  if (!connector) return false;
  const scrub = (text: string) => deps.client?.scrub(text) ?? text;
  await hurry(deps, connector, {
    runId: said.jobId,
    success: said.success ?? null,
    errorMessage: said.errorMessage ? storable(said.errorMessage, { length: 2_000, scrub }) : null,
    errorType: said.errorType ? storable(said.errorType, { length: 100, scrub }) : null,
    recordsCommitted: said.recordsCommitted ?? null,
    bytesCommitted: said.bytesCommitted ?? null,
    receivedAt: new Date().toISOString(),
  });
  return true;
}

async function hurry(
  deps: Pick<NoticeDeps, 'db' | 'wake'>,
  { tenantId, connectorId }: ConnectorKey,
  notice: Notice,
): Promise<void> {
  await deps.db.tenant(tenantId, async (tx) => {
    await saveNotice(tx, { tenantId, connectorId }, notice);
    const active = await findActive(tx, { tenantId, pipeline: pipelineName, subjectId: connectorId });
    // A sync that has not been triggered waits for a limit, which a webhook does not lift.
    if (active?.runId) await unparkJob(tx, active);
    // The poll may have seen the failure first; with its reason known, the retry ends instead of running again.
    else if (!active && isConfigError(notice)) await hurryRetry(tx, { tenantId, connectorId });
    else return;
    tx.afterCommit(() => deps.wake.announce('jobs'));
  });
}

/**
 * PostgreSQL accepts neither NUL nor half a surrogate pair in JSON. Scrubbed after those are removed, because they
 * could split a secret, and before the text is shortened: half a secret is still a secret.
 */
function storable(
  text: string,
  { length, scrub }: { length: number; scrub: (text: string) => string },
): string {
  return Buffer.from(scrub(text.replaceAll('\0', '')).slice(0, length)).toString('utf8');
}
