import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { itemsOf, processorContext } from '../../../../../test/support/worlds/processor-context.ts';
import type { CatalogDoor } from '../../../../kernel/house/doors.ts';
import { jobErrors } from '../../../../kernel/jobs/errors.ts';
import type { ProcessorDefinition } from './custom/define-processor.ts';
import { AnswerChecks } from './llm/answer-checks.ts';
import { createProcessorRegistry } from './registry.ts';
import type { ItemOutcome } from './types.ts';
import { RowChecks } from './validate/row-checks.ts';

// No processor of these tests looks anything up.
const catalogs = {} as CatalogDoor;
const createRegistry = ({ custom }: { custom?: ProcessorDefinition[] } = {}) =>
  createProcessorRegistry({ rowChecks: new RowChecks(), answerChecks: new AnswerChecks(), catalogs, custom });
const items = itemsOf({ n: 1 }, { n: 2 }, { n: 3 });

function run(definition: ProcessorDefinition, context = processorContext()): Promise<ItemOutcome[]> {
  return createRegistry({ custom: [definition] })
    .get(definition.name)
    .process(items, {}, context);
}

describe('the registry', () => {
  test('knows the built-in processors and the configured ones', () => {
    const custom = [{ name: 'mine', processItem: (): ItemOutcome => ({ status: 'DONE', result: 1 }) }];
    expect(createRegistry({ custom }).names()).toEqual([
      'noop',
      'validate',
      'http',
      'llm',
      'chain',
      'catalog',
      'image',
      'mine',
    ]);
    expect(createRegistry().get('noop').isPure).toBe(true);
    expect(createRegistry({ custom }).get('mine').isPure).toBe(false);
  });

  test('refuses an unknown name with the nearest and with all it knows', () => {
    const registry = createRegistry();
    expect(() => registry.get('validat')).toThrow(/Did you mean validate\? Known: noop, validate, http/);
    expect(() => registry.get('__proto__')).toThrow(/There is no processor/);
  });

  test('refuses a definition that cannot work', () => {
    const process = async () => [];
    const bad: unknown[] = [
      null,
      {},
      { name: 'Bad Name', process },
      { name: 'neither' },
      { name: 'both', process, processItem: process },
      { name: 'http', process },
    ];
    for (const definition of bad) {
      expect(
        () => createRegistry({ custom: [definition as ProcessorDefinition] }),
        JSON.stringify(definition),
      ).toThrow(expect.objectContaining({ code: 'processor_definition_invalid' }));
    }
  });
});

describe('a custom processor', () => {
  test('turns what it throws into the error of that item alone', async () => {
    const outcomes = await run({
      name: 'mine',
      processItem: (item) => {
        if (item.id === 2) throw new Error('no luck');
        return { status: 'DONE', result: item.input };
      },
    });
    expect(outcomes).toEqual([
      { status: 'DONE', result: { n: 1 } },
      { status: 'ERROR', code: 'processor_failed', message: 'no luck', class: 'transient' },
      { status: 'DONE', result: { n: 3 } },
    ]);
  });

  test('ends the slice when its items are no longer held', async () => {
    const processItem = () => {
      throw jobErrors.raise.lease_lost('another worker has it');
    };
    await expect(run({ name: 'mine', processItem })).rejects.toMatchObject({ code: 'lease_lost' });
  });

  test('gives the attempts back when the slice is stopped', async () => {
    const stop = new AbortController();
    const processItem = (): ItemOutcome => {
      stop.abort();
      return { status: 'DONE', result: null };
    };
    expect(await run({ name: 'mine', processItem }, processorContext({ signal: stop.signal }))).toMatchObject(
      [{ status: 'DONE' }, { attemptUnused: true }, { attemptUnused: true }],
    );
  });

  test('cannot lose items by returning too few outcomes, too many or something else', async () => {
    const answers: unknown[] = [[], [{ status: 'DONE' }], 'done', null, Array(3).fill({ status: 'PENDING' })];
    for (const answer of answers) {
      const process = async () => answer as ItemOutcome[];
      const outcomes = await run({ name: 'mine', process });
      expect(outcomes, JSON.stringify(answer)).toHaveLength(3);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({ status: 'ERROR', code: 'processor_misbehaved', class: 'transient' });
      }
    }
  });

  test('a custom processor that returns garbage fails that item alone', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const garbage: unknown[] = [
      null,
      7,
      'DONE',
      {},
      { status: 'done' },
      { status: 'DONE', result: 1n },
      { status: 'DONE', result: circular },
      { status: 'DONE', result: () => 1 },
      { status: 'DONE', result: 'x'.repeat(5_000_000) },
    ];
    for (const answer of garbage) {
      const processItem = ({ id }: { id: number }) =>
        (id === 2 ? answer : { status: 'DONE', result: id }) as ItemOutcome;
      const process = (many: { id: number }[]) => many.map(processItem);
      for (const way of [{ processItem }, { process }]) {
        expect(await run({ name: 'mine', ...way })).toMatchObject([
          { status: 'DONE', result: 1 },
          { status: 'ERROR', code: 'processor_misbehaved', class: 'transient' },
          { status: 'DONE', result: 3 },
        ]);
      }
    }
  });

  test('cannot return what the database does not accept', async () => {
    const outcomes = await run({
      name: 'mine',
      process: () => [
        { status: 'DONE', result: { 'a\0': '\ud800', at: new Date(0) } },
        { status: 'NOT_FOUND', reason: '\0'.repeat(5_000) },
        { status: 'ERROR', code: 'c\0', message: 'm\0', class: 'throttled', retryAfterMs: Number.NaN },
      ],
    });
    expect(outcomes).toEqual([
      { status: 'DONE', result: { 'a\ufffd': '\ufffd', at: '1970-01-01T00:00:00.000Z' } },
      { status: 'NOT_FOUND', reason: '\ufffd'.repeat(1_000) },
      { status: 'ERROR', code: 'c\ufffd', message: 'm\ufffd', class: 'throttled' },
    ]);
  });

  test('is retried at once while it has another strategy, and never when it says so', async () => {
    const answers = ['at_once', 'never', undefined] as const;
    const process = () =>
      answers.map(
        (retry): ItemOutcome => ({ status: 'NOT_FOUND', reason: 'no', ...(retry ? { retry } : {}) }),
      );
    const none = { status: 'NOT_FOUND', reason: 'no' };
    const never = { ...none, retry: 'never' };
    expect(await run({ name: 'mine', strategies: 2, process })).toEqual([
      { ...none, retry: 'at_once' },
      never,
      none,
    ]);
    expect(await run({ name: 'mine', process })).toEqual([none, never, none]);
  });

  test('renews its lock before each item, unless it is pure', async () => {
    const processItem = (): ItemOutcome => ({ status: 'DONE', result: null });
    for (const isPure of [false, true]) {
      const assertHeld = vi.fn(async () => {});
      await run({ name: 'mine', isPure, processItem }, processorContext({ assertHeld }));
      expect(assertHeld).toHaveBeenCalledTimes(isPure ? 0 : 3);
    }
  });
});

describe('the options of a custom processor', () => {
  const processItem = (_item: unknown, options: unknown): ItemOutcome => ({
    status: 'DONE',
    result: options,
  });
  const processorOf = (definition: Partial<ProcessorDefinition>) =>
    createRegistry({ custom: [{ name: 'mine', processItem, ...definition }] }).get('mine');

  test('are checked by its schema, with the place of each problem', () => {
    const mine = processorOf({ optionsSchema: z.strictObject({ 'a/b': z.number(), c: z.string() }) });
    expect(() => mine.validateOptions({ 'a/b': 'x' })).toThrow(
      expect.objectContaining({
        code: 'processor_options_invalid',
        fields: [
          { pointer: '/options/a~1b', message: expect.any(String) },
          { pointer: '/options/c', message: expect.any(String) },
        ],
      }),
    );
  });

  test('are checked by its function, whatever that throws', () => {
    const validateOptions = () => {
      throw new Error('no colour is allowed');
    };
    expect(() => processorOf({ validateOptions }).validateOptions({})).toThrow(
      expect.objectContaining({
        code: 'processor_options_invalid',
        fields: [{ pointer: '/options', message: 'no colour is allowed' }],
      }),
    );
    for (const bad of [[], 1, 'x']) {
      expect(() => processorOf({}).validateOptions(bad)).toThrow(/must be an object/);
    }
  });

  test('are kept as they were given, and reach it as its schema makes them', async () => {
    const optionsSchema = z.object({ days: z.string().transform(Number), deep: z.boolean().default(true) });
    const mine = processorOf({ optionsSchema });
    const kept = mine.validateOptions(mine.validateOptions({ days: '7' }));
    expect(kept).toEqual({ days: '7' });
    const [outcome] = await mine.process(items.slice(0, 1), kept, processorContext());
    expect(outcome).toEqual({ status: 'DONE', result: { days: 7, deep: true } });
  });

  test('cannot have an asynchronous schema', () => {
    const optionsSchema = z.object({}).refine(async () => true);
    expect(() => processorOf({ optionsSchema }).validateOptions({})).toThrow(
      expect.objectContaining({ code: 'processor_definition_invalid' }),
    );
  });
});
