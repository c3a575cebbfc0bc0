import { nearestName } from '../../../lib/nearest-name.ts';
import { defineProcessor, type ProcessorDefinition } from './define-processor.ts';
import { processorErrors } from './errors.ts';
import { httpProcessor } from './http.ts';
import { noopProcessor } from './noop.ts';
import type { Processor } from './types.ts';
import { validateProcessor } from './validate.ts';

export interface ProcessorRegistry {
  /** Refuses an unknown name with the known ones. */
  get(name: string): Processor;
  names(): string[];
}

/** `custom`: the `processors` of sluice.config.mjs. `builtIn`: further ones of the house. */
export function createProcessorRegistry({
  custom = [],
  builtIn = [],
}: {
  custom?: readonly ProcessorDefinition[];
  builtIn?: readonly Processor[];
} = {}): ProcessorRegistry {
  const processors = new Map<string, Processor>();
  const all = [noopProcessor, validateProcessor, httpProcessor, ...builtIn, ...custom.map(defineProcessor)];
  for (const processor of all) {
    if (processors.has(processor.name)) {
      throw processorErrors.raise.processor_definition_invalid(
        `There are two processors named ${processor.name}. Give yours a name that is not taken`,
      );
    }
    processors.set(processor.name, processor);
  }
  return {
    names: () => [...processors.keys()],
    get: (name) => processors.get(name) ?? refuse(name, [...processors.keys()]),
  };
}

function refuse(name: string, known: string[]): never {
  const nearest = nearestName(name, known);
  const guess = nearest === null ? '' : ` Did you mean ${nearest}?`;
  throw processorErrors.raise.processor_unknown(
    `There is no processor ${JSON.stringify(name.slice(0, 100))}.${guess} Known: ${known.join(', ')}`,
    { fields: [{ pointer: '/processor', message: `must be one of ${known.join(', ')}` }] },
  );
}
