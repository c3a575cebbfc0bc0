import { createTurns } from '../../../../../lib/timing/event-loop-turns.ts';
import { optionsInvalid } from '../options.ts';
import { failure, stoppedOutcome } from '../outcomes.ts';
import {
  type ItemInput,
  type ItemOutcome,
  type Processor,
  type ProcessorContext,
  ResultJson,
} from '../types.ts';
import { type CheckedRow, RowCheck } from './check-rows.ts';
import type { RowChecks } from './row-checks.ts';
import { type Rule, readRules } from './rules.ts';

/** Rows that go to a thread together. */
const itemsAtOnce = 250;
/** With this many rules and without patterns, a row of ordinary size takes less than 0.2 ms. */
const mostLightRules = 50;
/** A longer row takes more than 10 ms. */
const mostLightUnits = 512 * 1024;
/** Rows that are not checked by then are given back: their locks and the time of the turn are limited. */
const maxThreadMs = 1_000;

/** Rules per column, and nothing else: no outside call, no other row. */
export function validateProcessor(checks: RowChecks): Processor {
  return {
    name: 'validate',
    isPure: true,
    itemsAtOnce,
    isSlow: (options) => !isLight(readRules(options).rules),
    validateOptions: readRules,
    assertUsable: async (options, { tenantId }) => {
      const patterned = readRules(options).rules.flatMap(({ pattern }, at) =>
        pattern ? [{ pattern, at }] : [],
      );
      if (patterned.length === 0) return;
      const problems = await checks.findProblems(
        patterned.map(({ pattern }) => pattern),
        { tenantId },
      );
      const issues = patterned.flatMap(({ at }, index) => {
        const message = problems[index] ?? null;
        return message === null ? [] : [{ message, path: ['rules', at, 'pattern'] }];
      });
      if (issues.length > 0) throw optionsInvalid('validate', issues);
    },
    process: async (items, options, context) => {
      const { rules } = readRules(options);
      const checked =
        isLight(rules) && areShort(items)
          ? await checkHere(items, rules)
          : await checkInThread(checks, { items, rules, context });
      return items.map((_, index) => outcomeOf(checked[index]));
    },
  };
}

function isLight(rules: readonly Rule[]): boolean {
  return rules.length <= mostLightRules && rules.every(({ pattern }) => pattern === undefined);
}

function areShort(items: readonly ItemInput[]): boolean {
  return items.reduce((sum, { inputJson }) => sum + inputJson.length, 0) <= mostLightUnits;
}

async function checkHere(items: readonly ItemInput[], rules: readonly Rule[]): Promise<CheckedRow[]> {
  const check = new RowCheck(rules, null);
  const takeTurn = createTurns();
  const checked: CheckedRow[] = [];
  for (const { inputJson } of items) {
    checked.push(check.check(inputJson));
    await takeTurn();
  }
  return checked;
}

/** Asks for some rows at a time, so that other tenants get their turns in between. */
async function checkInThread(
  checks: RowChecks,
  {
    items,
    rules,
    context,
  }: { items: readonly ItemInput[]; rules: readonly Rule[]; context: ProcessorContext },
): Promise<CheckedRow[]> {
  const rows = items.map(({ inputJson }) => inputJson);
  const until = performance.now() + maxThreadMs;
  const checked: CheckedRow[] = [];
  while (checked.length < rows.length && !context.signal.aborted) {
    checked.push(...(await checks.check({ rules, rows: rows.slice(checked.length) }, context)));
    if (performance.now() > until) break;
  }
  return checked;
}

function outcomeOf(checked: CheckedRow | undefined): ItemOutcome {
  // There was no time left for it: it is the first of another turn.
  if (checked === undefined) return { ...stoppedOutcome(), retryAfterMs: 0 };
  if ('resultJson' in checked) return { status: 'DONE', result: new ResultJson(checked.resultJson) };
  return failure({ code: 'validation_failed', message: checked.problem, class: 'permanent' });
}
