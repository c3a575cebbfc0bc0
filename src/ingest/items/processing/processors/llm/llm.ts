import { isSluiceError } from '../../../../../lib/errors.ts';
import { parseHttpOptions } from '../http/options.ts';
import { interpretAnswer, readAnswer } from '../http/response.ts';
import { renderText, TemplateError } from '../http/template.ts';
import { idempotencyKeyOf } from '../idempotency-key.ts';
import { CallNotBegun, endsSlice, failure, failureOf, stoppedOutcome } from '../outcomes.ts';
import type { ItemInput, ItemOutcome, Processor, ProcessorContext } from '../types.ts';
import { type ModelAnswer, readCompletion } from './answer.ts';
import type { AnswerChecks } from './answer-checks.ts';
import { endpointOf, type LlmOptions, parseLlmOptions, secretsOf } from './options.ts';

/** Asks a language model about each row, at any endpoint that speaks OpenAI's chat completions. */
export function llmProcessor(checks: Pick<AnswerChecks, 'check'>): Processor {
  return {
    name: 'llm',
    isPure: false,
    provider: (options) => providerOf(parseLlmOptions(options)),
    validateOptions: parseLlmOptions,
    secrets: (options) => secretsOf(parseLlmOptions(options)),
    addresses: (options) => [{ url: endpointOf(parseLlmOptions(options)), pointer: '/options/url' }],
    itemsPerCall: () => 1,
    budget: (options) => parseLlmOptions(options).budget,
    process: (items, options, context) => {
      const run = { options: parseLlmOptions(options), context, checks };
      return Promise.all(items.map((item) => processItem(item, run)));
    },
  };
}

/** Answers have a few thousand tokens. */
const maxAnswerBytes = 1024 * 1024;

interface Run {
  options: LlmOptions;
  context: ProcessorContext;
  checks: Pick<AnswerChecks, 'check'>;
}

async function processItem(item: ItemInput, run: Run): Promise<ItemOutcome> {
  const { options, context } = run;
  if (context.signal.aborted || context.ending?.aborted) return stoppedOutcome();
  try {
    const body = bodyFor(item, options);
    const headers = await headersFor(item, options, context);
    await context.assertHeld();
    return await ask(item, { ...run, body, headers });
  } catch (error) {
    if (endsSlice(error) || error instanceof CallNotBegun) throw error;
    if (error instanceof TemplateError)
      return failure({ code: error.code, message: error.message, class: 'permanent' });
    if (!isSluiceError(error)) throw error;
    return context.signal.aborted ? stoppedOutcome() : failureOf(error);
  }
}

function bodyFor({ input }: ItemInput, options: LlmOptions): string {
  const { model, temperature, maxTokens, schema } = options;
  const text = (template: string) => renderText(template, input) ?? '';
  return JSON.stringify({
    model,
    messages: [
      ...(options.system === undefined ? [] : [{ role: 'system', content: text(options.system) }]),
      { role: 'user', content: text(options.prompt) },
    ],
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }),
  });
}

async function headersFor(
  item: ItemInput,
  { secret }: LlmOptions,
  context: ProcessorContext,
): Promise<Record<string, string>> {
  const key = secret === undefined ? null : (await context.secret(secret)).trim();
  return {
    'content-type': 'application/json',
    'idempotency-key': idempotencyKeyOf(context.jobId, [item]),
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  };
}

interface Question extends Run {
  body: string;
  headers: Record<string, string>;
}

async function ask(item: ItemInput, question: Question): Promise<ItemOutcome> {
  const { options, context, checks, body, headers } = question;
  const startedMs = performance.now();
  const url = endpointOf(options);
  const log = (status: number | null, { outcome, tokens, cost }: ModelAnswer) => {
    const isError = outcome.status === 'ERROR';
    context.log({
      provider: providerOf(options),
      itemIds: [item.id],
      strategy: options.model,
      status,
      outcome: isError ? outcome.class : outcome.status.toLowerCase(),
      tookMs: Math.round(performance.now() - startedMs),
      ...(isError ? { error: outcome.message } : {}),
      ...(tokens === null ? {} : { tokens }),
      ...(cost === null ? {} : { cost }),
    });
  };
  try {
    const { timeoutMs } = options;
    const sent = {
      method: 'POST',
      headers,
      body,
      timeoutMs,
      maxBytes: maxAnswerBytes,
      maxRedirects: 0,
      signal: context.signal,
    } as const;
    const response = await context.fetch(url, sent);
    const read = await readAnswer(response, {
      host: new URL(url).host,
      format: 'json',
      scrub: (text) => text,
    });
    const whole = interpretAnswer(read, asWhole(url));
    const answer =
      whole.status === 'DONE'
        ? await readCompletion(read.value, {
            ...{ options, question: body },
            check: (asked) => checks.check(asked, context),
          })
        : { outcome: whole, tokens: null, cost: null };
    log(response.status, answer);
    return answer.outcome;
  } catch (error) {
    if (error instanceof CallNotBegun || endsSlice(error) || !isSluiceError(error)) throw error;
    const outcome = context.signal.aborted ? stoppedOutcome() : failureOf(error);
    log(null, { outcome, tokens: null, cost: null });
    return outcome;
  }
}

/** The statuses mean the same as to the processor `http`, except that there is no 404 of a row. */
function asWhole(url: string) {
  return parseHttpOptions({ request: { url }, response: { notFoundWhen: [] } });
}

function providerOf({ url }: LlmOptions): string {
  return `llm:${new URL(url).host.toLowerCase()}`;
}
