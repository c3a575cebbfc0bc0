import { jobErrors } from './errors.ts';
import type { Pipeline } from './types.ts';

/** The pipelines that this process knows; it claims no job of another one. */
export class PipelineRegistry {
  readonly #pipelines = new Map<string, Pipeline>();

  constructor(pipelines: readonly Pipeline[] = []) {
    for (const pipeline of pipelines) this.add(pipeline);
  }

  add(pipeline: Pipeline): void {
    this.#pipelines.set(pipeline.name, pipeline);
  }

  find(name: string): Pipeline | null {
    return this.#pipelines.get(name) ?? null;
  }

  get(name: string): Pipeline {
    const pipeline = this.#pipelines.get(name);
    if (pipeline) return pipeline;
    throw jobErrors.raise.pipeline_unknown(
      `There is no pipeline ${name} here; there are: ${[...this.#pipelines.keys()].join(', ') || 'none'}`,
    );
  }

  get all(): string[] {
    return [...this.#pipelines.keys()];
  }
}
