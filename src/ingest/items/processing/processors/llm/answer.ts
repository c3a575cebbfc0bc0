import { z } from 'zod';
import { toStorable } from '../../../../../lib/well-formed.ts';
import { freeName } from '../../../export/rows.ts';
import { failure } from '../outcomes.ts';
import type { ItemOutcome } from '../types.ts';
import type { LlmOptions } from './options.ts';

const completion = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullable() }) })).min(1),
  usage: z
    .looseObject({ prompt_tokens: z.number().default(0), completion_tokens: z.number().default(0) })
    .optional(),
});

export interface ModelAnswer {
  outcome: ItemOutcome;
  tokens: number | null;
  cost: number | null;
}

/** An endpoint that does not say what it used must not make a budget worthless. Most texts have more per token. */
const lettersPerToken = 3;

/** What a model has answered, checked against the schema: a model may say anything. */
export function readCompletion(
  value: unknown,
  { options, question }: { options: LlmOptions; question: string },
): ModelAnswer {
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
  return { outcome: outcomeOf(text, { options, told: { tokens, cost } }), tokens, cost };
}

function costOf(
  usage: { prompt_tokens: number; completion_tokens: number },
  price: { input: number; output: number },
): number {
  return (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / 1_000_000;
}

function outcomeOf(
  text: string,
  { options, told }: { options: LlmOptions; told: { tokens: number | null; cost: number | null } },
): ItemOutcome {
  if (options.schema === undefined) return { status: 'DONE', result: toStorable({ answer: text, ...told }) };
  const value = jsonIn(text);
  const problem = value === undefined ? 'it is not JSON' : problemWith(value, options.schema);
  if (problem !== null) {
    const message = `The answer does not fit the schema: ${problem}`;
    return failure({ code: 'answer_unfit', message, class: 'transient', keepsStrategy: true });
  }
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

/** Models like to wrap JSON in a block of Markdown. */
function jsonIn(text: string): unknown {
  const block = /```(?:json)?\s*([\s\S]*?)```/.exec(text)?.[1];
  try {
    return JSON.parse(block ?? text) as unknown;
  } catch {
    return undefined;
  }
}

function problemWith(value: unknown, schema: Record<string, unknown>): string | null {
  const checked = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
  if (checked.success) return null;
  const [first] = checked.error.issues;
  return first === undefined ? 'it differs' : `${first.path.join('.') || 'the answer'}: ${first.message}`;
}
