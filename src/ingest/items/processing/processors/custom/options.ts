import { isSluiceError, messageOf } from '../../../../../lib/errors.ts';
import { processorErrors } from '../errors.ts';
import { optionsInvalid } from '../options.ts';
import { nameOfType, type ProcessorDefinition } from './define-processor.ts';

/** The options as the processor wants them. Whatever its own check rejects is the caller's mistake: a 422. */
export function readOptions<Options>(definition: ProcessorDefinition<Options>, options: unknown): Options {
  const given = options ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw optionsInvalid(definition.name, [{ message: `must be an object, not ${nameOfType(given)}` }]);
  }
  if (definition.optionsSchema) return readBySchema(definition, given);
  if (!definition.validateOptions) return given as Options;
  try {
    return definition.validateOptions(given);
  } catch (error) {
    if (isSluiceError(error)) throw error;
    throw optionsInvalid(definition.name, [{ message: messageOf(error) }], error);
  }
}

function readBySchema<Options>(
  { name, optionsSchema }: ProcessorDefinition<Options>,
  options: object,
): Options {
  const answer = optionsSchema?.['~standard'].validate(options);
  if (answer === undefined || answer instanceof Promise) {
    throw processorErrors.raise.processor_definition_invalid(
      `The optionsSchema of the processor ${name} is asynchronous. Allowed: a synchronous schema`,
    );
  }
  if (answer.issues === undefined) return answer.value;
  throw optionsInvalid(name, answer.issues);
}
