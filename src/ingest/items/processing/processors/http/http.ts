import { isSluiceError } from '../../../../../lib/errors.ts';
import { idempotencyKeyOf } from '../idempotency-key.ts';
import { CallNotBegun, endsSlice, failure, failureOf, stoppedOutcome } from '../outcomes.ts';
import type { ItemError, ItemInput, ItemOutcome, Processor, ProcessorContext } from '../types.ts';
import {
  addressesIn,
  type HttpOptions,
  type HttpRequest,
  parseHttpOptions,
  requestFor,
  secretsIn,
} from './options.ts';
import {
  type Credentials,
  loadCredentials,
  type PreparedCall,
  prepareBatchCall,
  prepareCall,
} from './request.ts';
import { interpretAnswer, interpretBatch, type ProviderAnswer, readAnswer } from './response.ts';
import { TemplateError } from './template.ts';

/** Calls a provider over HTTP, once per item or once per batch of items. */
export const httpProcessor: Processor = {
  name: 'http',
  isPure: false,
  provider: (options) => providerOf(parseHttpOptions(options).request),
  validateOptions: parseHttpOptions,
  secrets: (options) => secretsIn(parseHttpOptions(options)),
  addresses: (options) => addressesIn(parseHttpOptions(options)),
  itemsPerCall: (options) => parseHttpOptions(options).batch?.size ?? 1,
  process: (items, options, context) => processItems(items, parseHttpOptions(options), context),
};

const defaultConcurrency = 4;

/** What the calls of one `process` share. */
interface Run {
  options: HttpOptions;
  context: ProcessorContext;
  credentials: Credentials;
  outcomes: Map<ItemInput, ItemOutcome>;
  /** Set by the first response that throttles: no further call is made. */
  throttled: ItemError | null;
  /** Set when the slice has to end. */
  ending: { error: unknown } | null;
}

async function processItems(
  items: ItemInput[],
  options: HttpOptions,
  context: ProcessorContext,
): Promise<ItemOutcome[]> {
  let credentials: Credentials;
  try {
    credentials = await loadCredentials(options, context);
  } catch (error) {
    if (!isSluiceError(error) || endsSlice(error)) throw error;
    return items.map(() => failureOf(error));
  }
  const run: Run = { options, context, credentials, outcomes: new Map(), throttled: null, ending: null };
  await makeCalls(run, planCalls(items, options));
  if (run.ending !== null) throw run.ending.error;
  return items.map((item) => run.outcomes.get(item) ?? stoppedOutcome());
}

interface Call {
  request: HttpRequest;
  items: ItemInput[];
}

/** Items on different strategies cannot share a call. */
function planCalls(items: ItemInput[], options: HttpOptions): Call[] {
  const size = options.batch?.size ?? 1;
  const byStrategy = new Map<string, Call>();
  for (const item of items) {
    const request = requestFor(options, item.strategy);
    const call = byStrategy.get(request.strategy) ?? { request, items: [] };
    call.items.push(item);
    byStrategy.set(request.strategy, call);
  }
  return [...byStrategy.values()].flatMap(({ request, items: all }) =>
    Array.from({ length: Math.ceil(all.length / size) }, (_, index) => ({
      request,
      items: all.slice(index * size, (index + 1) * size),
    })),
  );
}

async function makeCalls(run: Run, calls: Call[]): Promise<void> {
  const queue = calls.values();
  const caller = async () => {
    for (const call of queue) await makeCallUnlessOver(run, call);
  };
  const callers = Math.min(run.context.concurrency ?? defaultConcurrency, calls.length);
  await Promise.all(Array.from({ length: Math.max(1, callers) }, caller));
}

async function makeCallUnlessOver(run: Run, call: Call): Promise<void> {
  const { signal, ending } = run.context;
  if (run.ending !== null || signal.aborted || ending?.aborted) return;
  if (run.throttled !== null) {
    for (const item of call.items) run.outcomes.set(item, { ...run.throttled, attemptUnused: true });
    return;
  }
  try {
    await run.context.assertHeld();
    await makeCall(run, call);
  } catch (error) {
    if (error instanceof CallNotBegun) return;
    // The other callers finish their running calls; then the slice ends.
    run.ending ??= { error };
  }
}

async function makeCall(run: Run, call: Call): Promise<void> {
  const { items } = call;
  const prepared = prepare(run, call);
  if (prepared === null) return;
  const startedMs = performance.now();
  const answer = await send(run, withKey(run, call, prepared));
  const results = await interpret(answer, items, run.options);
  for (const [index, item] of items.entries()) run.outcomes.set(item, results[index] ?? stoppedOutcome());
  // A batch is logged with its worst outcome, which is what backpressure needs to know.
  const worst = results.find(isThrottled) ?? results.find(isError) ?? results[0] ?? stoppedOutcome();
  if (isThrottled(worst)) run.throttled = worst;
  run.context.log({
    provider: providerOf(call.request),
    itemIds: items.map(({ id }) => id),
    strategy: call.request.strategy,
    status: 'class' in answer ? null : answer.status,
    outcome: isError(worst) ? worst.class : worst.status.toLowerCase(),
    tookMs: Math.round(performance.now() - startedMs),
    ...(isError(worst) ? { error: worst.message } : {}),
  });
}

async function interpret(
  answer: ProviderAnswer | ItemError,
  items: ItemInput[],
  options: HttpOptions,
): Promise<ItemOutcome[]> {
  if ('class' in answer) return items.map(() => answer);
  if (options.batch !== undefined) return interpretBatch(answer, items, options);
  return items.map(() => interpretAnswer(answer, options));
}

/** Null when the request cannot be built from the row; its outcome says why. */
function prepare({ options, credentials, outcomes }: Run, { request, items }: Call): PreparedCall | null {
  const [first] = items;
  if (first === undefined) return null;
  try {
    if (options.batch !== undefined) return prepareBatchCall(request, { items, options, credentials });
    return prepareCall(request, first, credentials);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const outcome = failure({ code: error.code, message: error.message, class: 'permanent' });
    for (const item of items) outcomes.set(item, outcome);
    return null;
  }
}

/** A header that the request sets itself stays as it is. */
function withKey({ options, context }: Run, { items }: Call, prepared: PreparedCall): PreparedCall {
  const name = options.idempotencyHeader.toLowerCase();
  const { headers } = prepared.fetchOptions;
  if (name === '' || headers?.[name] !== undefined) return prepared;
  const key = idempotencyKeyOf(context.jobId, items);
  return { ...prepared, fetchOptions: { ...prepared.fetchOptions, headers: { ...headers, [name]: key } } };
}

async function send(
  { options, context, credentials }: Run,
  { url, fetchOptions }: PreparedCall,
): Promise<ProviderAnswer | ItemError> {
  const { timeoutMs, maxResponseBytes: maxBytes, maxRedirects } = options;
  try {
    const answer = await context.fetch(url, {
      ...fetchOptions,
      timeoutMs,
      maxBytes,
      maxRedirects,
      signal: context.signal,
    });
    const { format } = options.response;
    return await readAnswer(answer, { host: new URL(url).host, format, scrub: credentials.scrub });
  } catch (error) {
    if (error instanceof CallNotBegun) throw error;
    if (context.signal.aborted) return stoppedOutcome();
    if (!isSluiceError(error)) throw error;
    return failureOf(error);
  }
}

function isError(outcome: ItemOutcome): outcome is ItemError {
  return outcome.status === 'ERROR';
}

function isThrottled(outcome: ItemOutcome): outcome is ItemError {
  return isError(outcome) && outcome.class === 'throttled';
}

function providerOf({ url }: Pick<HttpRequest, 'url'>): string {
  const host = /^https?:\/\/([^/?]+)/i.exec(url)?.[1] ?? '';
  return `http:${host.toLowerCase()}`;
}
