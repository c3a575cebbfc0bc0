import { expect, test } from 'vitest';
import { defineWorkflow, joinSteps, type Step, workflow } from './workflow.ts';

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
function step(name: string): Step<{ made: string }, string, { made: string }> {
  return {
    payload: ({ made }) => made,
    run: async function* (inputs) {
      for await (const input of inputs) yield { made: `${input} ${name}` };
    },
  };
}

test('steps are joined in the order of the workflow, whatever the order of their record', async () => {
  const definition = defineWorkflow(['second', 'first', 'last']);
  const steps = { first: step('first'), last: step('last'), second: step('second') };
  const inputs = () => of({ made: 'x' }, { made: 'y' });
  const whole = joinSteps(definition, steps, { from: 'second', until: null, inputs: inputs() });
  expect(await all(whole)).toEqual([{ made: 'x second first last' }, { made: 'y second first last' }]);
  const half = joinSteps(definition, steps, { from: 'second', until: 'last', inputs: inputs() });
  expect(await all(half)).toEqual([{ made: 'x second first' }, { made: 'y second first' }]);
});
