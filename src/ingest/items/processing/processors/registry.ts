import type { CatalogDoor } from '../../../../kernel/house/doors.ts';
import { messageOf } from '../../../../lib/errors.ts';
import { nearestName } from '../../../../lib/nearest-name.ts';
import { catalogProcessor } from './catalog.ts';
import { chainProcessor } from './chain/chain.ts';
import { nameOfType, type ProcessorDefinition } from './custom/define-processor.ts';
import { toProcessor } from './custom/processor.ts';
import { processorErrors } from './errors.ts';
import { httpProcessor } from './http/http.ts';
import { imageProcessor } from './image.ts';
import type { AnswerChecks } from './llm/answer-checks.ts';
import { llmProcessor } from './llm/llm.ts';
import { noopProcessor } from './noop.ts';
import type { Processor } from './types.ts';
import type { RowChecks } from './validate/row-checks.ts';
import { validateProcessor } from './validate/validate.ts';

export interface ProcessorRegistry {
  /** Throws for an unknown name, with the known ones. */
  get(name: string): Processor;
  names(): string[];
}

const builtInNames = ['noop', 'validate', 'http', 'llm', 'chain', 'catalog', 'image'];
const maxCustom = 1_000;

/** `custom`: the `processors` of sluice.config.mjs. */
export function createProcessorRegistry({
  catalogs,
  rowChecks,
  answerChecks,
  custom = [],
}: {
  catalogs: CatalogDoor;
  /** For the processor `validate`. */
  rowChecks: RowChecks;
  /** For the processor `llm`. */
  answerChecks: AnswerChecks;
  custom?: readonly ProcessorDefinition[] | undefined;
}): ProcessorRegistry {
  const get = (name: string): Processor => processors.get(name) ?? refuse(name, [...processors.keys()]);
  const builtIn: Processor[] = [
    noopProcessor,
    validateProcessor(rowChecks),
    httpProcessor,
    llmProcessor(answerChecks),
    chainProcessor(get),
    catalogProcessor(catalogs),
    imageProcessor,
  ];
  const processors = new Map<string, Processor>(builtIn.map((processor) => [processor.name, processor]));
  for (const definition of custom) addCustom(processors, definition);
  return {
    names: () => [...processors.keys()],
    get,
  };
}

/** What is wrong with the `processors` of a config file, one sentence for each. */
export function findProcessorProblems(value: unknown): string[] {
  const allowed = 'Allowed: an array of processors, such as [defineProcessor({ name, processItem })]';
  if (!Array.isArray(value)) return [`it is ${nameOfType(value)}. ${allowed}`];
  if (value.length > maxCustom) return [`it has ${value.length} processors. Allowed: at most ${maxCustom}`];
  const processors = new Map<string, Processor | null>(builtInNames.map((name) => [name, null]));
  return [...value].flatMap((definition: unknown, index) => {
    try {
      addCustom(processors, definition);
      return [];
    } catch (error) {
      return [`number ${index + 1}: ${messageOf(error)}`];
    }
  });
}

function addCustom(processors: Map<string, Processor | null>, definition: unknown): void {
  const processor = toProcessor(definition);
  if (processors.has(processor.name)) {
    const whose = builtInNames.includes(processor.name) ? 'The built-in processor' : 'Another processor';
    throw processorErrors.raise.processor_definition_invalid(
      `${whose} is named ${processor.name} already. Give yours a name that is not taken: ` +
        `${[...processors.keys()].join(', ')} are`,
    );
  }
  processors.set(processor.name, processor);
}

function refuse(name: string, known: string[]): never {
  const nearest = nearestName(name, known);
  const guess = nearest === null ? '' : ` Did you mean ${nearest}?`;
  throw processorErrors.raise.processor_unknown(
    `There is no processor ${JSON.stringify(name.slice(0, 100))}.${guess} Known: ${known.join(', ')}`,
    { fields: [{ pointer: '/processor', message: `must be one of ${known.join(', ')}` }] },
  );
}
