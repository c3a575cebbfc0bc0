import { nearestName } from '../../../lib/nearest-name.ts';
import { ownErrors } from '../errors.ts';
import type {
  Carries,
  OwnDefinition,
  PipelineDefinition,
  PipelineSpec,
  TaskDefinition,
  TaskSpec,
} from '../types.ts';
import { findScheduleProblem } from './schedule.ts';
import { type InputOf, isSchema, type OutputOf, type Schema } from './schema.ts';

/** A pipeline of your own: its jobs advance in slices, each committed together with its effects. */
export function definePipeline<const Name extends string, S extends Schema>(
  spec: PipelineSpec<Name, S, OutputOf<S>, InputOf<S>>,
): PipelineDefinition & Carries<Name, InputOf<S>> {
  return assertDefinition({ ...spec, kind: 'pipeline' }) as PipelineDefinition & Carries<Name, InputOf<S>>;
}

/** A function of your own that runs as a job: its steps are remembered, and its sleeps hold no slot. */
export function defineTask<const Name extends string, S extends Schema, Result>(
  spec: TaskSpec<Name, S, OutputOf<S>, InputOf<S>, Result>,
): TaskDefinition & Carries<Name, InputOf<S>> {
  return assertDefinition({ ...spec, kind: 'task' }) as TaskDefinition & Carries<Name, InputOf<S>>;
}

const shared = {
  name: 'string',
  input: 'schema',
  retry: 'object',
  schedule: 'object',
  concurrency: 'object',
};
const membersOf = {
  pipeline: { ...shared, advance: 'function', cleanUp: 'function', progress: 'function' },
  task: { ...shared, run: 'function' },
} as const;
const required = { pipeline: ['name', 'input', 'advance'], task: ['name', 'input', 'run'] } as const;

/** Names that built-in pipelines have, or that would be confused with them. */
const taken = ['items', 'uploads', 'connectors', 'knowledge', 'scrapes', 'adapters', 'catalog'];

/** For definitions that no type checker has seen, too. */
function assertDefinition(definition: unknown): OwnDefinition {
  const made = definition as Record<string, unknown> | null;
  const kind = made?.kind;
  if (typeof made !== 'object' || made === null || (kind !== 'pipeline' && kind !== 'task')) {
    throw refusal('it was not made by definePipeline or defineTask');
  }
  const { name } = made;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,49}$/.test(name)) {
    throw refusal(
      `a ${kind} needs a name of lower-case letters, digits, - and _, at most 50, that starts with a letter`,
    );
  }
  if (taken.includes(name)) throw refusal(`the name ${name} is taken by a built-in pipeline`);
  checkMembers({ made, kind, name });
  const schedule = findScheduleProblem(made.schedule as never);
  if (schedule !== null) throw refusal(`the schedule of ${kind} ${name} ${schedule}`);
  const { limit } = (made.concurrency ?? { limit: 1 }) as { limit?: unknown };
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > 1_000) {
    throw refusal(`the concurrency of ${kind} ${name} needs a limit from 1 to 1000`);
  }
  return definition as OwnDefinition;
}

function checkMembers({
  made,
  kind,
  name,
}: {
  made: Record<string, unknown>;
  kind: keyof typeof membersOf;
  name: string;
}): void {
  const members: Record<string, string> = membersOf[kind];
  for (const member of required[kind]) {
    if (made[member] === undefined) throw refusal(`${kind} ${name} has no ${member}`);
  }
  for (const [member, value] of Object.entries(made)) {
    const type = members[member];
    if (value === undefined || member === 'kind') continue;
    if (type === undefined) {
      const nearest = nearestName(member, Object.keys(members));
      if (nearest !== null)
        throw refusal(`${kind} ${name} has an unknown ${member}; perhaps ${nearest} is meant`);
    } else if (type === 'schema' ? !isSchema(value) : typeof value !== type || value === null) {
      throw refusal(
        `the ${member} of ${kind} ${name} must be a ${type === 'schema' ? 'Standard Schema' : type}`,
      );
    }
  }
}

function refusal(what: string): Error {
  return ownErrors.raise.definition_invalid(`A definition is wrong: ${what}`);
}

const mostDefinitions = 500;

/** One sentence per problem of a list in the config file. */
export function findDefinitionProblems(kind: 'pipeline' | 'task'): (value: unknown) => string[] {
  const made = kind === 'task' ? 'defineTask' : 'definePipeline';
  return (value) => {
    if (!Array.isArray(value) || value.length > mostDefinitions) {
      return [
        `it is no array of at most ${mostDefinitions}. Allowed: an array, such as [${made}({ name, … })]`,
      ];
    }
    const names = new Set<string>();
    return [...value].flatMap((each: unknown, index) => {
      try {
        const definition = assertDefinition(each);
        if (definition.kind !== kind)
          throw refusal(`${definition.name} is a ${definition.kind}, and no ${kind}`);
        if (names.has(definition.name)) throw refusal(`there are two named ${definition.name}`);
        names.add(definition.name);
        return [];
      } catch (error) {
        return [`number ${index + 1}: ${(error as Error).message}`];
      }
    });
  };
}
