import { SecretPurse } from '../../../kernel/secrets/lent-secret.ts';
import type { SecretLender } from '../../../kernel/secrets/types.ts';
import type { Principal } from '../../../kernel/tenancy/types.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { newId } from '../../../lib/ids.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Choice } from '../intake/choose-processor.ts';
import { callWithoutSecrets, withoutSecrets } from '../processing/job-secrets.ts';
import { processItems } from '../processing/processing.ts';
import {
  type ItemOutcome,
  type ProviderCall,
  ResultJson,
  sameAsInput,
} from '../processing/processors/types.ts';

export interface TryDeps {
  fetch: GuardedFetch;
  secrets: SecretLender;
  logger: Logger;
}

export interface TriedRow {
  rowNo: number;
  status: ItemOutcome['status'];
  input: string;
  /** JSON text; null without a result. */
  result: string | null;
  errorCode: string | null;
  lastError: string | null;
  /** A job would try again by itself. */
  wouldRetry: boolean;
  calls: Pick<ProviderCall, 'provider' | 'strategy' | 'status' | 'outcome' | 'tookMs'>[];
}

/** Long enough for a slow provider, short enough for a person who waits. */
const longestMs = 30_000;

/**
 * Runs a few rows through a processor, once each and right now, with the rights of the caller. Calls to a provider are
 * real and are logged; nothing else remains.
 */
export async function tryRows(
  deps: TryDeps,
  {
    principal,
    choice,
    rows,
    signal,
  }: { principal: Principal; choice: Choice; rows: string[]; signal: AbortSignal },
): Promise<TriedRow[]> {
  const { tenantId, role } = principal;
  const { processor, options } = choice;
  const purse = new SecretPurse(deps.secrets, { tenantId, role, use: `processor:${processor.name}` });
  const calls: ProviderCall[] = [];
  const items = rows.map((inputJson, at) => ({
    id: at + 1,
    rowNo: at + 1,
    attempts: 1,
    strategy: 0,
    crashes: 0,
    throttled: 0,
    notFound: 0,
    inputJson,
  }));
  const { outcomes } = await processItems(processor, {
    items,
    options,
    context: {
      signal: AbortSignal.any([signal, AbortSignal.timeout(longestMs)]),
      tenantId,
      jobId: newId(),
      assertHeld: async () => {},
      fetch: purse.guard(deps.fetch),
      secret: (name) => purse.take(name),
      log: (call) => void calls.push(callWithoutSecrets(call, purse)),
      concurrency: rows.length,
    },
  });
  const line = {
    tenant_id: tenantId,
    user_id: principal.userId,
    processor: processor.name,
    rows: rows.length,
  };
  deps.logger.info({ ...line, calls: calls.length }, 'rows were tried before a job was made');
  return outcomes.map((outcome, at) => triedRow(withoutSecrets(outcome, purse), { item: items[at], calls }));
}

function triedRow(
  outcome: ItemOutcome,
  {
    item,
    calls,
  }: { item: { id: number; rowNo: number; inputJson: string } | undefined; calls: ProviderCall[] },
): TriedRow {
  const { id = 0, rowNo = 0, inputJson = '{}' } = item ?? {};
  const own = calls.filter(({ itemIds }) => itemIds.includes(id));
  return {
    rowNo,
    status: outcome.status,
    input: inputJson,
    result: resultText(outcome, inputJson),
    errorCode: outcome.status === 'ERROR' ? outcome.code : null,
    lastError: outcome.status === 'ERROR' ? outcome.message : 'reason' in outcome ? outcome.reason : null,
    wouldRetry: outcome.status === 'ERROR' && outcome.class !== 'permanent',
    calls: own.map(({ provider, strategy, status, outcome: end, tookMs }) => ({
      ...{ provider, strategy, status, outcome: end },
      tookMs: Math.round(tookMs),
    })),
  };
}

function resultText(outcome: ItemOutcome, inputJson: string): string | null {
  const result = 'result' in outcome ? outcome.result : undefined;
  if (result === undefined) return null;
  if (result === sameAsInput) return inputJson;
  return result instanceof ResultJson ? result.json : JSON.stringify(result);
}
