import {
  type CatalogDraft,
  catalogOptions,
  emptyCatalog,
  emptyHttp,
  type HttpDraft,
  httpOptions,
  newRule,
  type RuleDraft,
  validateOptions,
} from './processor-options.ts';

/** A question to a language model, as it stands in the form. */
export interface LlmDraft {
  url: string;
  model: string;
  prompt: string;
  /** JSON, or nothing. */
  schema: string;
  secret: string;
  /** Per million tokens; empty: not known. */
  inputPrice: string;
  outputPrice: string;
  /** Empty: none. */
  budget: string;
}

export const emptyLlm: LlmDraft = {
  url: '',
  model: '',
  prompt: '',
  schema: '',
  secret: '',
  inputPrice: '',
  outputPrice: '',
  budget: '',
};

export const stepProcessors = [
  { value: 'http', label: 'Call a provider' },
  { value: 'llm', label: 'Ask a language model' },
  { value: 'validate', label: 'Check the row' },
  { value: 'catalog', label: 'Match a catalogue' },
] as const;
export type StepProcessor = (typeof stepProcessors)[number]['value'];

/** One step of a chain: the drafts of all processors are kept while another one is chosen. */
export interface StepDraft {
  key: number;
  name: string;
  processor: StepProcessor;
  http: HttpDraft;
  llm: LlmDraft;
  rules: RuleDraft[];
  catalog: CatalogDraft;
}

export interface ChainDraft {
  mode: 'sequence' | 'waterfall';
  steps: StepDraft[];
  budget: string;
}

export function newStep(key: number): StepDraft {
  const drafts = { http: emptyHttp, llm: emptyLlm, rules: [newRule(1)], catalog: emptyCatalog };
  return { key, name: '', processor: 'http', ...drafts };
}

export const emptyChain: ChainDraft = { mode: 'waterfall', steps: [newStep(1), newStep(2)], budget: '' };

/** What the processor `llm` takes. */
export function llmOptions(draft: LlmDraft): object {
  const { url, model, prompt, secret, inputPrice, outputPrice } = draft;
  const hasPrice = inputPrice !== '' || outputPrice !== '';
  return {
    url: url.trim(),
    model: model.trim(),
    prompt,
    ...(draft.schema.trim() === '' ? {} : { schema: jsonOr(draft.schema) }),
    ...(secret === '' ? {} : { secret }),
    ...(hasPrice ? { price: { input: Number(inputPrice), output: Number(outputPrice) } } : {}),
    ...(draft.budget === '' ? {} : { budget: Number(draft.budget) }),
  };
}

/** What the processor `chain` takes. */
export function chainOptions({ mode, steps, budget }: ChainDraft): object {
  return {
    mode,
    steps: steps.map((step) => ({
      ...(step.name.trim() === '' ? {} : { name: step.name.trim() }),
      processor: step.processor,
      options: stepOptions(step),
    })),
    ...(budget === '' ? {} : { budget: Number(budget) }),
  };
}

export function isStepIncomplete({ processor, http, llm, rules, catalog }: StepDraft): boolean {
  if (processor === 'http') return http.url.trim() === '';
  if (processor === 'llm') return isLlmIncomplete(llm);
  if (processor === 'validate') return rules.every(({ column }) => column.trim() === '');
  return catalog.catalog === '' || catalog.strategies.length === 0;
}

export function isLlmIncomplete({ url, model, prompt }: LlmDraft): boolean {
  return [url, model, prompt].some((text) => text.trim() === '');
}

function stepOptions({ processor, http, llm, rules, catalog }: StepDraft): object {
  if (processor === 'http') return httpOptions(http);
  // The budget is the chain's.
  if (processor === 'llm') return llmOptions({ ...llm, budget: '' });
  return processor === 'validate' ? validateOptions(rules) : catalogOptions(catalog);
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
