import { useState } from 'react';
import { CatalogFields } from './catalog-fields.tsx';
import { ChainFields } from './chain-fields.tsx';
import { LlmFields } from './llm-fields.tsx';
import { HttpFields, RuleFields } from './processor-fields.tsx';
import {
  catalogOptions,
  emptyCatalog,
  emptyHttp,
  httpOptions,
  newRule,
  validateOptions,
} from './processor-options.ts';
import type { NewItemsSearch } from './search.ts';
import {
  chainOptions,
  emptyChain,
  emptyLlm,
  isLlmIncomplete,
  isStepIncomplete,
  llmOptions,
} from './step-options.ts';

type ProcessorName = NewItemsSearch['processor'];

/** The draft options of each processor, kept while another one is chosen. */
export function useOptionDrafts() {
  const [rules, setRules] = useState(() => [newRule(1)]);
  const [http, setHttp] = useState(emptyHttp);
  const [llm, setLlm] = useState(emptyLlm);
  const [chain, setChain] = useState(emptyChain);
  const [catalog, setCatalog] = useState(emptyCatalog);
  return {
    optionsOf: (processor: ProcessorName): object => {
      if (processor === 'validate') return validateOptions(rules);
      if (processor === 'http') return httpOptions(http);
      if (processor === 'llm') return llmOptions(llm);
      if (processor === 'chain') return chainOptions(chain);
      return processor === 'catalog' ? catalogOptions(catalog) : {};
    },
    isIncomplete: (processor: ProcessorName): boolean => {
      if (processor === 'validate') return rules.every(({ column }) => column.trim() === '');
      if (processor === 'http') return http.url.trim() === '';
      if (processor === 'llm') return isLlmIncomplete(llm);
      if (processor === 'chain') return chain.steps.some(isStepIncomplete);
      return processor === 'catalog' && (catalog.catalog === '' || catalog.strategies.length === 0);
    },
    /** The first rule is about the first column, unless a rule was already edited. */
    takeColumns: (names: readonly string[]) =>
      setRules((before) => (before.every(({ column }) => column === '') ? [newRule(1, names[0])] : before)),
    fieldsOf: (processor: ProcessorName, { columns, error }: { columns: string[]; error: unknown }) => {
      const shared = { columns, error };
      if (processor === 'validate') return <RuleFields rules={rules} {...shared} onChange={setRules} />;
      if (processor === 'http') return <HttpFields draft={http} {...shared} onChange={setHttp} />;
      if (processor === 'llm') return <LlmFields draft={llm} {...shared} onChange={setLlm} />;
      if (processor === 'chain') return <ChainFields draft={chain} {...shared} onChange={setChain} />;
      if (processor !== 'catalog') return null;
      return <CatalogFields draft={catalog} {...shared} onChange={setCatalog} />;
    },
  };
}
