import { z } from 'zod';
import { toStorable } from '../../../../../lib/well-formed.ts';
import { freeName } from '../../../export/rows.ts';
import { failure } from '../outcomes.ts';
import type { ItemOutcome } from '../types.ts';
import type { AnswerQuestion, CheckedAnswer } from './answer-thread.ts';
import type { LlmOptions } from './options.ts';

const completion = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullable() }) })).min(1),
  usage: z
    .looseObject({ prompt_tokens: z.number().default(0), completion_tokens: z.number().default(0) })
    .optional(),
});

/** Larger results are for files, and not for rows. */
const maxResultBytes = 256 * 1024;

export interface ModelAnswer {
  outcome: ItemOutcome;
  tokens: number | null;
  cost: number | null;
}

/** An endpoint that does not say what it used must not make a budget worthless. Most texts have more per token. */
const lettersPerToken = 3;

/** Checks a text against the schema, somewhere else: a model may say anything, and a schema may ask for anything. */
export type CheckAnswer = (question: AnswerQuestion) => Promise<CheckedAnswer>;

/** What a model has answered. */
export async function readCompletion(
  value: unknown,
  { options, question, check }: { options: LlmOptions; question: string; check: CheckAnswer },
): Promise<ModelAnswer> {
  const parsed = completion.safeParse(value);
  if (!parsed.success) {
    const message = 'The endpoint returned something that is not a chat completion';
    return {
      outcome: failure({ code: 'provider_garbage', message, class: 'transient' }),
      tokens: null,
      cost: null,
    };
  }
  const { usage } = parsed.data;
  const tokens = usage === undefined ? null : usage.prompt_tokens + usage.completion_tokens;
  const text = parsed.data.choices[0]?.message.content ?? '';
  const counted = usage ?? {
    prompt_tokens: Math.ceil(question.length / lettersPerToken),
    completion_tokens: Math.ceil(text.length / lettersPerToken),
  };
  const cost = options.price === undefined ? null : costOf(counted, options.price);
  return { outcome: await outcomeOf(text, { options, told: { tokens, cost }, check }), tokens, cost };
}

function costOf(
  usage: { prompt_tokens: number; completion_tokens: number },
  price: { input: number; output: number },
): number {
  return (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / 1_000_000;
}

interface Told {
  options: LlmOptions;
  told: { tokens: number | null; cost: number | null };
  check: CheckAnswer;
}

async function outcomeOf(text: string, { options, told, check }: Told): Promise<ItemOutcome> {
  if (Buffer.byteLength(text) > maxResultBytes) {
    const message = `The answer has more than ${maxResultBytes} bytes, the most allowed; ask for less of it`;
    return failure({ code: 'result_too_large', message, class: 'permanent' });
  }
  if (options.schema === undefined) return { status: 'DONE', result: toStorable({ answer: text, ...told }) };
  const checked = await check({ text, schema: options.schema });
  if ('problem' in checked) {
    const message = `The answer does not fit the schema: ${checked.problem}`;
    return failure({ code: 'answer_unfit', message, class: 'transient', keepsStrategy: true });
  }
  const value = JSON.parse(checked.valueJson) as unknown;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return {
    status: 'DONE',
    result: toStorable(isObject ? { ...value, ...beside(value, told) } : { answer: value, ...told }),
  };
}

/** A column of the answer keeps its name. */
function beside(answer: object, told: Record<string, number | null>): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => [freeName(name, Object.keys(answer)), value]),
  );
}
