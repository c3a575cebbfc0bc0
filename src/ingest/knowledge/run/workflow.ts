/** What happens to the documents of a run, in this order. The order is a value, and nothing else says it. */
export const stepNames = ['load', 'chunk', 'embed', 'index'] as const;
export type StepName = (typeof stepNames)[number];

export interface WorkflowDefinition<Name extends string = StepName> {
  readonly order: readonly Name[];
  readonly first: Name;
  next(step: Name): Name | null;
}

export function defineWorkflow<Name extends string>(
  order: readonly [Name, ...Name[]],
): WorkflowDefinition<Name> {
  if (new Set(order).size !== order.length) {
    throw new Error(`A workflow has each step once, but this one is ${order.join(', ')}`);
  }
  return {
    order,
    first: order[0],
    next(step) {
      const at = order.indexOf(step);
      if (at < 0) throw new Error(`There is no step ${step}; the steps are ${order.join(', ')}`);
      return order[at + 1] ?? null;
    },
  };
}

export const workflow = defineWorkflow(stepNames);

/**
 * A step takes the stream of what the step before it makes. `payload` is the contract between the two: what of the
 * former's output is this one's input.
 */
export interface Step<Output, Input, Made> {
  payload(output: Output): Input;
  run(inputs: AsyncIterable<Input>): AsyncIterable<Made>;
}

/** Steps differ in what they take and make; that neighbours fit is what `payload` is for. */
export interface AnyStep {
  payload(output: never): unknown;
  run(inputs: AsyncIterable<never>): AsyncIterable<unknown>;
}

export type Steps<Name extends string> = Record<Name, AnyStep>;

/** Joins the steps from `from` up to and without `until`, in the order of the workflow. */
export function joinSteps<Name extends string>(
  definition: WorkflowDefinition<Name>,
  steps: Steps<Name>,
  { from, until, inputs }: { from: Name; until: Name | null; inputs: AsyncIterable<unknown> },
): AsyncIterable<unknown> {
  let stream = inputs;
  for (let name: Name | null = from; name !== null && name !== until; name = definition.next(name)) {
    const { payload, run } = steps[name] as Step<unknown, unknown, unknown>;
    stream = run(mapped(stream, payload));
  }
  return stream;
}

async function* mapped(stream: AsyncIterable<unknown>, map: (output: unknown) => unknown) {
  for await (const output of stream) yield map(output);
}

/** What every line of a run's log is about. */
export interface TaskRecord {
  job_id: string;
  kb_id: string;
  step: StepName | 'sweep' | 'cleanup';
  batch?: number;
  /** Number of the chunk in its document. */
  chunk?: number;
}
