import { z } from 'zod';
import type { WantedSecret } from '../../../../../kernel/secrets/types.ts';
import { isSluiceError, SluiceError } from '../../../../../lib/errors.ts';
import { isShallow, optionsInvalid, parseOptions } from '../options.ts';
import type { FixedAddress, Processor } from '../types.ts';

const maxSteps = 10;
const stepName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,50}$/, 'must have 1 to 50 letters, digits, _ and -, such as find_product');

const schema = z.strictObject({
  /** `sequence`: each step, one after another. `waterfall`: the next step only where the one before found nothing. */
  mode: z.enum(['sequence', 'waterfall']).default('sequence'),
  steps: z
    .array(
      z.strictObject({
        name: stepName.optional(),
        processor: z.string().min(1).max(200),
        options: z
          .record(z.string(), z.unknown())
          .refine((value) => isShallow(value, 40), 'is nested deeper than 40 levels')
          .default({}),
      }),
    )
    .min(1)
    .max(maxSteps),
  /** What all calls of the job may cost, in the currency of the steps' prices; then it is paused. */
  budget: z.number().positive().optional(),
});

export interface ChainStep {
  name: string;
  processor: Processor;
  options: Record<string, unknown>;
  /** Where the step's options are in the request. */
  pointer: string;
}

export interface Chain {
  mode: 'sequence' | 'waterfall';
  steps: readonly ChainStep[];
  budget: number | undefined;
}

/** Reads the options of a chain, and those of each step with the step's own processor. */
export function parseChain(options: unknown, find: (name: string) => Processor): Chain {
  const { mode, steps: given, budget } = parseOptions(schema, { processor: 'chain', options });
  const names = nameSteps(given);
  const issues = findProblems(given, names);
  if (issues.length > 0) throw optionsInvalid('chain', issues);
  const steps = given.map((step, index) => openStep(find, { ...step, name: names[index] ?? '', index }));
  if (budget !== undefined && !steps.some(hasPrice)) {
    const message = 'needs a step whose cost is known, such as llm with a price';
    throw optionsInvalid('chain', [{ path: ['budget'], message }]);
  }
  return { mode, steps, budget };
}

/** As the job stores them. */
export function storedOptions({ mode, steps, budget }: Chain): Record<string, unknown> {
  return {
    mode,
    steps: steps.map(({ name, processor, options }) => ({ name, processor: processor.name, options })),
    ...(budget === undefined ? {} : { budget }),
  };
}

export function secretsOf({ steps }: Chain): WantedSecret[] {
  return steps.flatMap((step) =>
    (step.processor.secrets?.(step.options) ?? []).map((wanted) => ({
      ...wanted,
      pointer: pointerIn(step, wanted.pointer),
      use: `processor:${step.processor.name}` as const,
    })),
  );
}

export function addressesOf({ steps }: Chain): FixedAddress[] {
  return steps.flatMap((step) =>
    (step.processor.addresses?.(step.options) ?? []).map(({ url, pointer }) => ({
      url,
      pointer: pointerIn(step, pointer),
    })),
  );
}

/** What a step's own processor refuses is refused with the name of the step, and points into it. */
export function inStep(step: Pick<ChainStep, 'name' | 'pointer'>, error: unknown): unknown {
  if (!isSluiceError(error)) return error;
  const { code, definition, details, fields } = error;
  const message = fields.reduce(
    (text, { pointer }) => text.replace(`${pointer} `, () => `${pointerIn(step, pointer)} `),
    error.message,
  );
  return new SluiceError(code, definition, `Step ${step.name}: ${message}`, {
    details,
    cause: error,
    fields: fields.map(({ pointer, message: problem }) => ({
      pointer: pointerIn(step, pointer),
      message: problem,
    })),
  });
}

type GivenStep = z.output<typeof schema>['steps'][number];

/** Steps without a name have that of their processor; a second one of the same has a number. */
function nameSteps(steps: readonly GivenStep[]): string[] {
  const taken = new Set(steps.flatMap(({ name }) => name ?? []));
  return steps.map(({ name, processor }) => {
    if (name !== undefined) return name;
    const base = processor.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 40);
    let free = base;
    for (let no = 2; taken.has(free); no += 1) free = `${base}_${no}`;
    taken.add(free);
    return free;
  });
}

/** Processors that cannot be a step. */
const refused: Record<string, string> = {
  chain: 'cannot be a chain itself: write its steps into this one',
  image: 'cannot be image: a chain works on rows',
};

function findProblems(
  steps: readonly GivenStep[],
  names: readonly string[],
): { path: (string | number)[]; message: string }[] {
  return steps.flatMap(({ processor, options }, index) => {
    const path = ['steps', index];
    const problem = Object.hasOwn(refused, processor) ? refused[processor] : undefined;
    return [
      ...(problem === undefined ? [] : [{ path: [...path, 'processor'], message: problem }]),
      ...(names.indexOf(names[index] ?? '') === index
        ? []
        : [{ path: [...path, 'name'], message: 'is the name of another step too' }]),
      ...(options.budget === undefined
        ? []
        : [{ path: [...path, 'options', 'budget'], message: 'is set for the whole chain: /options/budget' }]),
    ];
  });
}

function openStep(
  find: (name: string) => Processor,
  { name, processor: wanted, options, index }: GivenStep & { name: string; index: number },
): ChainStep {
  const pointer = `/options/steps/${index}`;
  try {
    const processor = find(wanted);
    const valid = (processor.validateOptions(options) ?? {}) as Record<string, unknown>;
    return { name, processor, options: valid, pointer };
  } catch (error) {
    throw inStep({ name, pointer }, error);
  }
}

function hasPrice({ options }: ChainStep): boolean {
  return options.price !== undefined;
}

function pointerIn({ pointer }: Pick<ChainStep, 'pointer'>, inner: string): string {
  return /^\/(?:options|processor)(?:\/|$)/.test(inner) ? `${pointer}${inner}` : inner;
}
