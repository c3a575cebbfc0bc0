import type { LentSecret } from '../../../kernel/secrets/lent-secret.ts';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import type { FetchAnswer, GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../../lib/fetch/retry-after.ts';
import { asObject } from '../../../lib/json.ts';
import { parseForeignJson } from '../../../lib/json-depth.ts';
import { parseJsonInTurns } from '../../../lib/json-in-turns.ts';
import { rerankerErrors } from './errors.ts';
import type { Reranker, RerankerSettings } from './reranker.ts';

const { raise } = rerankerErrors;

export type EndpointSettings = Extract<RerankerSettings, { provider: 'endpoint' }>;

export interface EndpointDeps {
  fetch: GuardedFetch;
  /** Reads the key before each call, so that a new key takes effect at once; null without a key. */
  readKey(): Promise<Pick<LentSecret, 'value' | 'scrub'> | null>;
  timeoutMs?: number;
}

/** A search waits for it; without it the results are there already. */
const usualTimeoutMs = 5_000;
const maxAnswerBytes = 4 * 1024 * 1024;
const maxQuoteLength = 300;

/**
 * Any endpoint that takes {model, query, documents} and returns a list of {index, relevance_score}: Cohere, Jina,
 * Voyage, and servers such as vLLM, LiteLLM and Infinity. How many results to return is not sent: its name differs, and
 * all are wanted.
 */
export function endpointReranker(settings: EndpointSettings, deps: EndpointDeps): Reranker {
  const host = URL.canParse(settings.url) ? new URL(settings.url).host : 'The reranker';
  return {
    name: host,
    rerank: async (query, texts, { signal }) => {
      const lent = await deps.readKey();
      const key = lent?.value.trim() || null;
      const scrub = (text: string) => lent?.scrub(text) ?? text;
      const answer = await send({ settings, deps, key, scrub, host, signal }, { query, texts });
      if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer, { host, scrub });
      return scoresOf(answer.body, { host, texts: texts.length });
    },
    // The connections belong to the fetch that was passed in.
    close: async () => {},
  };
}

interface Call {
  settings: EndpointSettings;
  deps: EndpointDeps;
  key: string | null;
  scrub(text: string): string;
  host: string;
  signal: AbortSignal;
}

async function send(
  { settings, deps, key, scrub, host, signal }: Call,
  { query, texts }: { query: string; texts: readonly string[] },
): Promise<FetchAnswer<Buffer>> {
  const body = JSON.stringify({ model: settings.model, query, documents: texts });
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (key !== null) headers.authorization = `Bearer ${key}`;
  try {
    return await deps.fetch(settings.url, {
      method: 'POST',
      headers,
      body,
      timeoutMs: deps.timeoutMs ?? usualTimeoutMs,
      maxBytes: maxAnswerBytes,
      // A redirect would turn the POST into a GET.
      maxRedirects: 0,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!isSluiceError(error)) throw error;
    const message = `The request to ${host} failed: ${scrub(messageOf(error))}`;
    throw error.kind === 'transient'
      ? raise.reranker_unreachable(message, { cause: error })
      : raise.reranker_refused(message, { cause: error });
  }
}

function refusalOf(
  { status, body, headers }: FetchAnswer<Buffer>,
  { host, scrub }: Pick<Call, 'host' | 'scrub'>,
): SluiceError {
  const said = asObject(parseForeignJson(body));
  const texts = [said.message, said.detail, said.error, asObject(said.error).message];
  const quoted = texts.find((text) => typeof text === 'string');
  // Scrubbed before it is shortened: a part of a key must not be shown either.
  const line = scrub(String(quoted ?? ''))
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, maxQuoteLength);
  const message = `${host} answered ${status}${line === '' ? '' : `: ${line}`}`;
  if (status === 401 || status === 403) return raise.reranker_unauthorized(message);
  if (status === 429) {
    const retryInMs = parseRetryAfter(headers['retry-after'], headers.date);
    return raise.reranker_rate_limited(message, { details: retryInMs === undefined ? {} : { retryInMs } });
  }
  return status >= 500 || status === 408 ? raise.reranker_failed(message) : raise.reranker_refused(message);
}

/** Results come best first and name their texts by index. A text that is left out is the least relevant. */
async function scoresOf(body: Buffer, { host, texts }: { host: string; texts: number }): Promise<number[]> {
  const parsed = await parseJsonInTurns(body);
  const answer = asObject('value' in parsed ? parsed.value : null);
  const entries = answer.results ?? answer.data;
  if (!Array.isArray(entries) || entries.length === 0) {
    throw unreadable(host, 'it is not JSON with a list `results` or `data`');
  }
  const scores = new Array<number | undefined>(texts).fill(undefined);
  for (const entry of entries) {
    const { index, relevance_score: score } = asObject(entry);
    const isPlace = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < texts;
    if (!isPlace || scores[index] !== undefined || typeof score !== 'number' || !Number.isFinite(score)) {
      throw unreadable(host, 'one of its results has no index of a text, or no relevance_score');
    }
    scores[index] = score;
  }
  const least = Math.min(...scores.filter((score) => score !== undefined));
  return scores.map((score) => score ?? least - 1);
}

function unreadable(host: string, reason: string): SluiceError {
  return raise.reranker_answer_unreadable(`The response of ${host} cannot be used: ${reason}`);
}
