import { emptySource, isReady, type SourceDraft, sourceBody } from './source-fields.tsx';

export interface NewBase {
  name: string;
  strategy: 'markdown' | 'recursive' | 'fixed';
  provider: 'local' | 'openai';
  baseUrl: string;
  model: string;
  secret: string;
  price: number | null;
  hasSource: boolean;
  source: SourceDraft;
}

export const emptyBase: NewBase = {
  name: '',
  strategy: 'markdown',
  provider: 'local',
  baseUrl: '',
  model: '',
  secret: '',
  price: null,
  hasSource: false,
  source: emptySource,
};

/** As the API wants it. */
export function bodyOf(draft: NewBase) {
  const hasSource = draft.hasSource && isReady(draft.source);
  return {
    name: draft.name.trim(),
    chunker: { strategy: draft.strategy },
    embedder: draft.provider === 'local' ? { provider: 'local' as const } : serviceOf(draft),
    ...(hasSource ? { sources: [sourceBody(draft.source)] } : {}),
  };
}

function serviceOf(draft: NewBase) {
  return {
    provider: 'openai' as const,
    model: draft.model.trim(),
    ...(draft.baseUrl.trim() === '' ? {} : { base_url: draft.baseUrl.trim() }),
    ...(draft.secret.trim() === '' ? {} : { api_key_secret: draft.secret.trim() }),
    ...(draft.price === null ? {} : { price_per_million_tokens: draft.price }),
  };
}
