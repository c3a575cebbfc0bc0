import { z } from 'zod';
import { messageOf } from '../../../../../lib/errors.ts';
import { findTooDeep, maxJsonDepth } from '../../../../../lib/json-depth.ts';
import { answerQuestions } from '../../../../../lib/threads/answer-questions.ts';
import { jsonBlockOf } from './json-block.ts';

// Runs in the thread that checks answers of language models; `answer-checks.ts` starts it.

export interface AnswerQuestion {
  /** What the model wrote. */
  text: string;
  schema: Record<string, unknown>;
}

/** The value as JSON text, or what is wrong with it; `problem` completes "the answer does not fit the schema: …". */
export type CheckedAnswer = { valueJson: string } | { problem: string };

answerQuestions<AnswerQuestion, CheckedAnswer>(({ text, schema }) => {
  const json = jsonBlockOf(text);
  if (findTooDeep(Buffer.from(json)) !== -1) {
    return { problem: `it is nested deeper than ${maxJsonDepth} levels` };
  }
  const value = parsed(json);
  if (value === undefined) return { problem: 'it is not JSON' };
  const problem = problemWith(value, schema);
  return problem === null ? { valueJson: JSON.stringify(value) } : { problem };
});

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function problemWith(value: unknown, schema: Record<string, unknown>): string | null {
  try {
    const checked = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
    if (checked.success) return null;
    const [first] = checked.error.issues;
    return first === undefined
      ? 'it differs'
      : `${first.path.join('.') || 'the answer'}: ${first.message}`.slice(0, 1_000);
  } catch (error) {
    // Such as references in a circle, which overflow the stack.
    return `the schema cannot be used: ${messageOf(error).slice(0, 500)}`;
  }
}
