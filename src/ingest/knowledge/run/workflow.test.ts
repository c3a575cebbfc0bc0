import { expect, test } from 'vitest';
import { defineWorkflow, joinSteps, mapped, type Step, splitBefore, workflow } from './workflow.ts';

async function* of<T>(...items: T[]): AsyncGenerator<T> {
  yield* items;
}

async function all(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test('the steps of a run are load, chunk, embed and index', () => {
  expect(workflow.first).toBe('load');
  expect(workflow.order.map((step) => workflow.next(step))).toEqual(['chunk', 'embed', 'index', null]);
});

test('a workflow knows its own steps, each once', () => {
  expect(() => defineWorkflow(['a', 'b', 'a'])).toThrow('each step once');
  const other = defineWorkflow(['a', 'b']);
  expect(() => other.next('c' as 'a')).toThrow('There is no step c; the steps are a, b');
});

/** Appends its name to what it gets. */
function step(name: string): Step<{ made: string }, { made: string }> {
  return mapped(
    ({ made }) => made,
    async function* (inputs) {
      for await (const input of inputs) yield { made: `${input} ${name}` };
    },
  );
}

test('steps are joined in the order of the workflow, whatever the order of their record', async () => {
  const { order } = defineWorkflow(['second', 'first', 'last']);
  const steps = { first: step('first'), last: step('last'), second: step('second') };
  const inputs = () => of({ made: 'x' }, { made: 'y' });
  const whole = joinSteps(order, steps, inputs());
  expect(await all(whole)).toEqual([{ made: 'x second first last' }, { made: 'y second first last' }]);
  const [half, rest] = splitBefore(order, 'last');
  expect(await all(joinSteps(half, steps, inputs()))).toEqual([
    { made: 'x second first' },
    { made: 'y second first' },
  ]);
  expect(rest).toEqual(['last']);
});

test('a step that does not take what the one before it makes does not compile', async () => {
  const { order } = defineWorkflow(['measure', 'double']);
  const measure = mapped(
    (text: string) => text.length,
    (lengths) => lengths,
  );
  const double = mapped(
    (length: number) => length * 2,
    (numbers) => numbers,
  );
  expect(await all(joinSteps(order, { measure, double }, of('four')))).toEqual([8]);
  const swapped = defineWorkflow(['double', 'measure']).order;
  // @ts-expect-error `measure` takes texts, and `double` makes numbers.
  expect(await all(joinSteps(swapped, { measure, double }, of(4)))).toEqual([undefined]);
});
