import { longestWaitMs } from '../../../providers/provider-limiter.ts';
import { CallNotBegun, failureOf, isOurTrouble, stoppedOutcome } from '../outcomes.ts';
import type { ItemError, ItemInput, ItemOutcome, Processor, ProcessorContext } from '../types.ts';
import { ChainRow, stepOf } from './chain-row.ts';
import {
  addressesOf,
  type Chain,
  type ChainStep,
  inStep,
  parseChain,
  secretsOf,
  storedOptions,
} from './options.ts';

/** A row does not wait longer than this for a provider while it is locked. */
const shortWaitMs = 2_000;
/** Strategies that a step may take turns with at once. */
const maxTurns = 50;

/**
 * Steps of other processors, one after another, or as a waterfall. Each step keeps its own provider, pace and secrets.
 * What a step has answered is stored before the next one begins, so that a retry goes on at the step that failed.
 */
export function chainProcessor(find: (name: string) => Processor): Processor {
  const read = remembered((options) => parseChain(options, find));
  return {
    name: 'chain',
    isPure: false,
    provider: (options) => providerFrom(read(options), 0),
    providers: (options) => {
      const chain = read(options);
      return [...new Set(chain.steps.map((_, index) => providerFrom(chain, index)))];
    },
    providerAt: (options, progressJson) => providerFrom(read(options), stepOf(progressJson)),
    validateOptions: (options) => storedOptions(read(options)),
    secrets: (options) => secretsOf(read(options)),
    addresses: (options) => addressesOf(read(options)),
    budget: (options) => read(options).budget,
    itemsPerCall: (options) => Math.max(...read(options).steps.map(itemsOf)),
    assertUsable: async (options, job) => {
      for (const step of read(options).steps) {
        try {
          await step.processor.assertUsable?.(step.options, job);
        } catch (error) {
          throw inStep(step, error);
        }
      }
    },
    process: (items, options, context) => processItems(items, read(options), context),
  };
}

function remembered(parse: (options: unknown) => Chain): (options: unknown) => Chain {
  const known = new WeakMap<object, Chain>();
  return (options) => {
    if (typeof options !== 'object' || options === null) return parse(options);
    const chain = known.get(options) ?? parse(options);
    known.set(options, chain);
    return chain;
  };
}

function itemsOf({ processor, options }: ChainStep): number {
  return processor.itemsPerCall?.(options) ?? 1;
}

/** Whom a row at this step is waiting for: the first provider from there on. */
function providerFrom({ steps }: Chain, from: number): string {
  const calling = steps.slice(from).find(({ processor }) => processor.provider !== undefined);
  return calling?.processor.provider?.(calling.options) ?? 'chain';
}

async function processItems(
  items: ItemInput[],
  chain: Chain,
  context: ProcessorContext,
): Promise<ItemOutcome[]> {
  const rows = items.map((item) => new ChainRow(item, chain));
  for (const [index, step] of chain.steps.entries()) {
    const open = rows.filter((row) => row.outcome === null && row.step === index);
    if (open.length === 0) continue;
    await runStep(step, { rows: open, context, index });
    await keepProgress(
      open.filter(({ outcome }) => outcome === null),
      context,
    );
  }
  return rows.map(({ outcome }) => outcome ?? stoppedOutcome());
}

async function runStep(
  step: ChainStep,
  { rows, context, index }: { rows: ChainRow[]; context: ProcessorContext; index: number },
): Promise<void> {
  const stepContext = contextOf(step, context);
  const stopped = () => (index === 0 ? null : waitOf(step, context)) ?? stoppedOutcome();
  if (context.signal.aborted || context.ending?.aborted || stopped().waitingFor !== undefined) {
    for (const row of rows) row.outcome = stopped();
    return;
  }
  let open = rows;
  for (let turn = 0; open.length > 0 && turn < maxTurns; turn += 1) {
    const outcomes = await outcomesOf(step, open, stepContext);
    const again: ChainRow[] = [];
    for (const [at, row] of open.entries()) {
      const outcome = outcomes[at] ?? stopped();
      if (outcome.status === 'NOT_FOUND' && outcome.retry === 'at_once' && turn < maxTurns - 1) {
        row.strategy += 1;
        again.push(row);
      } else row.take(step, outcome);
    }
    open = again;
  }
}

async function outcomesOf(
  step: ChainStep,
  rows: ChainRow[],
  context: ProcessorContext,
): Promise<(ItemOutcome | null)[]> {
  const { processor, options } = step;
  try {
    const outcomes = await processor.process(
      rows.map((row) => row.inputFor(step)),
      options,
      context,
    );
    return outcomes.map((outcome) => (isStopped(outcome) ? null : outcome));
  } catch (error) {
    if (error instanceof CallNotBegun) return [];
    if (isOurTrouble(error) || context.signal.aborted) throw error;
    return rows.map(() => failureOf(error));
  }
}

function isStopped(outcome: ItemOutcome): boolean {
  return outcome.status === 'ERROR' && outcome.code === stoppedOutcome().code;
}

function contextOf(step: ChainStep, context: ProcessorContext): ProcessorContext {
  const { name, processor, options } = step;
  const provider = processor.provider?.(options) ?? null;
  const own = context.forStep?.({ processor: processor.name, provider }) ?? context;
  return { ...own, log: (call) => own.log({ ...call, strategy: `${name}/${call.strategy}` }) };
}

/** A row whose next provider will not be called for a while is given back, with what it waits for. */
function waitOf({ processor, options }: ChainStep, context: ProcessorContext): ItemError | null {
  const provider = processor.provider?.(options);
  const wait = provider === undefined ? null : (context.waitOf?.(provider) ?? null);
  if (wait === null || wait.waitMs <= shortWaitMs) return null;
  return {
    ...stoppedOutcome(),
    retryAfterMs: Math.min(wait.waitMs, longestWaitMs),
    waitingFor: wait.waitingFor,
  };
}

/** Rows that another worker has taken over meanwhile are left to it. */
async function keepProgress(rows: ChainRow[], context: ProcessorContext): Promise<void> {
  if (rows.length === 0 || context.keep === undefined) return;
  const kept = await context.keep(rows.map(({ item, progressJson }) => ({ id: item.id, progressJson })));
  for (const row of rows) if (!kept.has(row.item.id)) row.outcome = stoppedOutcome();
}
