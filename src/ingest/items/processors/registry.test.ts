import { describe, expect, test } from 'vitest';
import { itemsOf, processorContext } from '../../../../test/processor-context.ts';
import { jobErrors } from '../../../kernel/jobs/errors.ts';
import type { ProcessorDefinition } from './define-processor.ts';
import { createProcessorRegistry } from './registry.ts';
import type { ItemOutcome } from './types.ts';

const items = itemsOf({ n: 1 }, { n: 2 }, { n: 3 });

function run(definition: ProcessorDefinition, context = processorContext()): Promise<ItemOutcome[]> {
  return createProcessorRegistry({ custom: [definition] })
    .get(definition.name)
    .process(items, {}, context);
}

describe('the registry', () => {
  test('knows the built-in processors and the configured ones', () => {
    const custom = [{ name: 'mine', processItem: (): ItemOutcome => ({ status: 'DONE', result: 1 }) }];
    expect(createProcessorRegistry({ custom }).names()).toEqual(['noop', 'validate', 'http', 'mine']);
    expect(createProcessorRegistry().get('noop').isPure).toBe(true);
    expect(createProcessorRegistry({ custom }).get('mine').isPure).toBe(false);
  });

  test('refuses an unknown name with the nearest and with all it knows', () => {
    const registry = createProcessorRegistry();
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
        () => createProcessorRegistry({ custom: [definition as ProcessorDefinition] }),
        JSON.stringify(definition),
      ).toThrow(expect.objectContaining({ code: 'processor_definition_invalid' }));
    }
  });
});

describe('a processor of one’s own', () => {
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

  test('cannot lose items by answering too few, too many or something else', async () => {
    const answers: unknown[] = [[], [{ status: 'DONE' }], 'done', null, Array(3).fill({ status: 'PENDING' })];
    for (const answer of answers) {
      const process = async () => answer as ItemOutcome[];
      await expect(run({ name: 'mine', process }), JSON.stringify(answer)).rejects.toMatchObject({
        code: 'processor_misbehaved',
      });
    }
  });
});
