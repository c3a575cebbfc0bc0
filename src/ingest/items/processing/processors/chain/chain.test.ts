import { describe, expect, test } from 'vitest';
import { itemsOf, processorContext } from '../../../../../../test/support/worlds/processor-context.ts';
import type { CatalogDoor } from '../../../../../kernel/house/doors.ts';
import type { ProcessorDefinition } from '../custom/define-processor.ts';
import { AnswerChecks } from '../llm/answer-checks.ts';
import { createProcessorRegistry } from '../registry.ts';
import type { ItemInput, ItemOutcome, ItemProgress } from '../types.ts';
import { RowChecks } from '../validate/row-checks.ts';

type Say = (item: ItemInput) => ItemOutcome;

function chainOf(steps: Record<string, Say>) {
  const custom: ProcessorDefinition[] = Object.entries(steps).map(([name, say]) => ({
    name,
    strategies: 3,
    processItem: say,
  }));
  const registry = createProcessorRegistry({
    rowChecks: new RowChecks(),
    answerChecks: new AnswerChecks(),
    catalogs: {} as CatalogDoor,
    custom,
  });
  const chain = registry.get('chain');
  return {
    chain,
    run: async (
      mode: 'sequence' | 'waterfall',
      { items = itemsOf({ sku: 'a' }), kept = [] as ItemProgress[] } = {},
    ) => {
      const keep = async (progress: readonly ItemProgress[]) => {
        kept.push(...progress);
        return new Set(progress.map(({ id }) => id));
      };
      const options = { mode, steps: Object.keys(steps).map((processor) => ({ processor })) };
      return chain.process(items, chain.validateOptions(options), processorContext({ keep }));
    },
  };
}

const found = (result: unknown): ItemOutcome => ({ status: 'DONE', result });
const missing = { status: 'NOT_FOUND', reason: 'nothing here' } as const;

describe('a sequence', () => {
  test('gives each step what the steps before it found, and merges the results', async () => {
    const seen: unknown[] = [];
    const { run } = chainOf({
      find: ({ input }) => found({ id: `id of ${String(input.sku)}`, name: 'old' }),
      describe: ({ input }) => {
        seen.push(input);
        return found({ name: 'new', text: 'red' });
      },
      count: () => found(3),
    });
    expect(await run('sequence')).toEqual([
      found({
        id: 'id of a',
        name: 'new',
        'find.name': 'old',
        text: 'red',
        count: 3,
        answered_by: 'find, describe, count',
      }),
    ]);
    expect(seen).toEqual([
      { sku: 'a', id: 'id of a', name: 'old', 'find.id': 'id of a', 'find.name': 'old' },
    ]);
  });

  test('stores what each step found before the next one begins', async () => {
    const kept: ItemProgress[] = [];
    const order: string[] = [];
    const { run } = chainOf({
      find: () => found({ id: 7 }),
      describe: () => {
        order.push(`described after ${kept.length} kept`);
        return found({ text: 'x' });
      },
    });
    await run('sequence', { kept });
    expect(order).toEqual(['described after 1 kept']);
    expect(kept).toEqual([{ id: 1, progressJson: '{"step":1,"found":[{"by":"find","result":{"id":7}}]}' }]);
  });

  test('goes on where a row stopped, and asks no step again that answered', async () => {
    const asked: string[] = [];
    const say = (name: string) => () => {
      asked.push(name);
      return found({ [name]: true });
    };
    const { run } = chainOf({ find: say('find'), describe: say('describe') });
    const [item] = itemsOf({ sku: 'a' });
    const items = [
      { ...(item as ItemInput), progressJson: '{"step":1,"found":[{"by":"find","result":{"id":7}}]}' },
    ];
    expect(await run('sequence', { items })).toEqual([
      found({ id: 7, describe: true, answered_by: 'find, describe' }),
    ]);
    expect(asked).toEqual(['describe']);
  });

  test('ends a row with the step that failed or found nothing, and keeps what was found', async () => {
    const error = { status: 'ERROR', code: 'broken', message: 'no luck', class: 'permanent' } as const;
    expect(await chainOf({ find: () => error, describe: () => found(1) }).run('sequence')).toEqual([
      { ...error, message: 'Step find: no luck' },
    ]);
    expect(await chainOf({ find: () => found({ id: 7 }), describe: () => missing }).run('sequence')).toEqual([
      { status: 'NOT_FOUND', reason: 'Step describe: nothing here', result: { id: 7, answered_by: 'find' } },
    ]);
  });

  test('keeps a column named like its own, and one named __proto__', async () => {
    const { run } = chainOf({ find: () => found(JSON.parse('{"answered_by": "me", "__proto__": 1}')) });
    const [outcome] = await run('sequence');
    expect(JSON.stringify((outcome as { result: unknown }).result)).toBe(
      '{"answered_by":"me","__proto__":1,"item_answered_by":"find"}',
    );
  });
});

describe('a waterfall', () => {
  test('asks the next step only where the one before found nothing', async () => {
    const asked: string[] = [];
    const { run } = chainOf({
      cheap: ({ input }) => {
        asked.push(`cheap ${String(input.sku)}`);
        return input.sku === 'a' ? found({ price: 1 }) : missing;
      },
      dear: ({ input }) => {
        asked.push(`dear ${String(input.sku)}`);
        return input.sku === 'b' ? found({ price: 2 }) : missing;
      },
    });
    const outcomes = await run('waterfall', { items: itemsOf({ sku: 'a' }, { sku: 'b' }, { sku: 'c' }) });
    expect(outcomes).toEqual([
      found({ price: 1, answered_by: 'cheap' }),
      found({ price: 2, answered_by: 'dear' }),
      { status: 'NOT_FOUND', reason: 'Step dear: nothing here', startsOver: true },
    ]);
    expect(asked).toEqual(['cheap a', 'cheap b', 'cheap c', 'dear b', 'dear c']);
  });

  test('tries all strategies of a step before the next step', async () => {
    const { run } = chainOf({
      shelves: ({ strategy }) =>
        strategy === 2 ? found({ shelf: strategy }) : { ...missing, retry: 'at_once' as const },
      other: () => found({ shelf: 'other' }),
    });
    expect(await run('waterfall')).toEqual([found({ shelf: 2, answered_by: 'shelves' })]);
  });

  test('leaves rows that another worker has taken over', async () => {
    const { chain } = chainOf({ cheap: () => missing, dear: () => found(1) });
    const options = chain.validateOptions({
      mode: 'waterfall',
      steps: [{ processor: 'cheap' }, { processor: 'dear' }],
    });
    const context = processorContext({ keep: async () => new Set() });
    expect(await chain.process(itemsOf({ sku: 'a' }), options, context)).toMatchObject([
      { status: 'ERROR', code: 'slice_stopped', attemptUnused: true },
    ]);
  });
});

describe('the options of a chain', () => {
  const { chain } = chainOf({});
  const refusalOf = (options: unknown) => {
    try {
      chain.validateOptions(options);
      return null;
    } catch (error) {
      const { message, fields } = error as { message: string; fields: { pointer: string }[] };
      return { message, pointers: fields.map(({ pointer }) => pointer) };
    }
  };

  test('name each step, and are the same when they are read again', () => {
    const step = { processor: 'http', options: { request: { url: 'https://a.example/{{sku}}' } } };
    const read = chain.validateOptions({ steps: [step, step, { ...step, name: 'last' }] });
    expect(read).toMatchObject({
      mode: 'sequence',
      steps: [{ name: 'http' }, { name: 'http_2' }, { name: 'last' }],
    });
    expect(chain.validateOptions(JSON.parse(JSON.stringify(read)))).toEqual(read);
  });

  test('are refused with the step that is wrong', () => {
    const good = { processor: 'noop' };
    const bad = { name: 'ask', processor: 'http', options: { request: { url: 'ftp://x' } } };
    const refusal = refusalOf({ steps: [good, bad] });
    expect(refusal?.message).toMatch(/^Step ask: .*http/);
    expect(refusal?.pointers).toEqual(['/options/steps/1/options/request/url']);
    expect(refusalOf({ steps: [good, { processor: 'htp' }] })).toMatchObject({
      message: expect.stringMatching(/^Step htp: .*Did you mean http/),
      pointers: ['/options/steps/1/processor'],
    });
    expect(refusalOf({ steps: [{ processor: 'chain' }] })?.pointers).toEqual(['/options/steps/0/processor']);
    expect(refusalOf({ steps: [{ processor: 'image' }] })?.pointers).toEqual(['/options/steps/0/processor']);
    const twice = { ...good, name: 'a' };
    expect(refusalOf({ steps: [twice, twice] })?.pointers).toEqual(['/options/steps/1/name']);
    expect(refusalOf({ steps: [] })?.pointers).toEqual(['/options/steps']);
    expect(refusalOf({ steps: [good], budget: 1 })?.pointers).toEqual(['/options/budget']);
    const model = { processor: 'llm', options: { budget: 1 } };
    expect(refusalOf({ steps: [model] })?.pointers).toEqual(['/options/steps/0/options/budget']);
  });

  test('need every secret for its own host, and name it in its step', () => {
    const options = chain.validateOptions({
      steps: [
        {
          processor: 'http',
          options: { request: { url: 'https://a.example/x' }, auth: { type: 'bearer', secret: 'one' } },
        },
        {
          processor: 'llm',
          options: { url: 'https://b.example/v1', model: 'm', prompt: 'p', secret: 'two' },
        },
      ],
    });
    expect(chain.secrets?.(options)).toEqual([
      {
        name: 'one',
        urls: ['https://a.example/x'],
        pointer: '/options/steps/0/options/auth/secret',
        use: 'processor:http',
      },
      {
        name: 'two',
        urls: ['https://b.example/v1/chat/completions'],
        pointer: '/options/steps/1/options/secret',
        use: 'processor:llm',
      },
    ]);
  });
});
