/** Steps in an order that is a value: which steps there are, and which follows which, is said here and nowhere else. */
export interface WorkflowDefinition<Order extends readonly string[]> {
  readonly order: Order;
  readonly first: Order[0];
  next(step: Order[number]): Order[number] | null;
}

export function defineWorkflow<const Order extends readonly [string, ...string[]]>(
  order: Order,
): WorkflowDefinition<Order> {
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

/** What happens to the documents of a run. */
export const workflow = defineWorkflow(['load', 'chunk', 'embed', 'index']);

/** Turns the stream of what the step before it makes into the stream of what this step makes. */
export type Step<Before, Made> = (stream: AsyncIterable<Before>) => AsyncIterable<Made>;

/** A step with a payload mapping: what it needs of the output before it. */
export function mapped<Before, Input, Made>(
  payload: (output: Before) => Input,
  run: (inputs: AsyncIterable<Input>) => AsyncIterable<Made>,
): Step<Before, Made> {
  return (stream) => run(mapStream(stream, payload));
}

async function* mapStream<From, To>(stream: AsyncIterable<From>, map: (item: From) => To) {
  for await (const item of stream) yield map(item);
}

type AnyStep = (stream: never) => AsyncIterable<unknown>;
type MadeBy<S> = S extends (stream: never) => AsyncIterable<infer Made> ? Made : never;
type Last<Order> = Order extends readonly [...unknown[], infer Name] ? Name : never;

/** What `Steps` has to be so that each step takes what the one before it makes. */
type Fitting<Order, Steps, Before> = Order extends readonly [infer Name extends keyof Steps, ...infer Rest]
  ? { [Fits in Name]: Step<Before, MadeBy<Steps[Name]>> } & Fitting<Rest, Steps, MadeBy<Steps[Name]>>
  : unknown;

/** Joins the steps in their order. Steps that do not fit each other do not compile. */
export function joinSteps<
  Order extends readonly string[],
  Before,
  Steps extends Record<Order[number], AnyStep>,
>(
  order: Order,
  steps: Steps & Fitting<Order, Steps, Before>,
  inputs: AsyncIterable<Before>,
): AsyncIterable<MadeBy<Steps[Last<Order> & keyof Steps]>> {
  let stream: AsyncIterable<unknown> = inputs;
  for (const name of order) stream = steps[name as Order[number]](stream as never);
  return stream as ReturnType<typeof joinSteps<Order, Before, Steps>>;
}

type UpTo<Order, Name> = Order extends readonly [infer Head, ...infer Rest]
  ? Head extends Name
    ? []
    : [Head, ...UpTo<Rest, Name>]
  : [];
type From<Order, Name> = Order extends readonly [infer Head, ...infer Rest]
  ? Head extends Name
    ? Order
    : From<Rest, Name>
  : [];

/** The steps before this one, and those from this one on. */
export function splitBefore<const Order extends readonly string[], const Name extends Order[number]>(
  order: Order,
  name: Name,
): [UpTo<Order, Name>, From<Order, Name>] {
  const at = order.indexOf(name);
  return [order.slice(0, at), order.slice(at)] as [UpTo<Order, Name>, From<Order, Name>];
}

/** The fields of each log line of a run. */
export interface TaskRecord {
  job_id: string;
  kb_id: string;
  step: (typeof workflow.order)[number] | 'sweep' | 'cleanup';
  batch?: number;
  /** Number of the chunk in its document. */
  chunk?: number;
}
