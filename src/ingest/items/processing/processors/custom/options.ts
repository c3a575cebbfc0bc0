import { type FieldProblem, isSluiceError, messageOf } from '../../../../../lib/errors.ts';
import { processorErrors } from '../errors.ts';
import { nameOfType, type ProcessorDefinition, type SchemaIssue } from './define-processor.ts';

const maxProblems = 20;
const maxMessageLength = 500;

/** The options as the processor wants them; whatever its own check says against them is the caller's mistake: a 422. */
export function readOptions<Options>(definition: ProcessorDefinition<Options>, options: unknown): Options {
  const given = options ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw refuse(definition.name, [
      { pointer: '/options', message: `must be an object, not ${nameOfType(given)}` },
    ]);
  }
  if (definition.optionsSchema) return readBySchema(definition, given);
  if (!definition.validateOptions) return given as Options;
  try {
    return definition.validateOptions(given);
  } catch (error) {
    if (isSluiceError(error)) throw error;
    throw refuse(definition.name, [{ pointer: '/options', message: messageOf(error) }], error);
  }
}

function readBySchema<Options>(
  { name, optionsSchema }: ProcessorDefinition<Options>,
  options: object,
): Options {
  const answer = optionsSchema?.['~standard'].validate(options);
  if (answer === undefined || answer instanceof Promise) {
    throw processorErrors.raise.processor_definition_invalid(
      `The optionsSchema of the processor ${name} answers later. Allowed: a schema that answers at once`,
    );
  }
  if (answer.issues === undefined) return answer.value;
  throw refuse(name, answer.issues.slice(0, maxProblems).map(toProblem));
}

function refuse(name: string, problems: FieldProblem[], cause?: unknown): Error {
  const fields = problems.map(({ pointer, message }) => ({
    pointer,
    message: message.slice(0, maxMessageLength),
  }));
  const summary = fields.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  return processorErrors.raise.processor_options_invalid(
    `The options of the processor ${name} are not valid: ${summary}`,
    { fields, cause },
  );
}

function toProblem({ path = [], message }: SchemaIssue): FieldProblem {
  const steps = path.map((step) => String(typeof step === 'object' ? step.key : step));
  const escaped = steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
  return { pointer: ['/options', ...escaped].join('/'), message };
}
