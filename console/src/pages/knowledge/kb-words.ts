import type { KnowledgeBase, KnowledgeSource } from '../../api/types.ts';

export function embedderWords(embedder: KnowledgeBase['embedder']): string {
  if (embedder.provider === 'local') return 'built in';
  if (embedder.provider === 'custom') return `custom: ${embedder.name ?? ''}`;
  return embedder.model ?? 'OpenAI-compatible';
}

export function chunkerWords({ strategy, max_tokens }: KnowledgeBase['chunker']): string {
  const how = { markdown: 'by headings', recursive: 'by paragraphs', fixed: 'by length' }[strategy];
  return `${how}, up to ${max_tokens} tokens`;
}

const types: Record<KnowledgeSource['type'], string> = {
  files: 'Added files',
  markdown: 'Markdown text',
  text: 'Text',
  html: 'HTML text',
  folder: 'Folder',
  website: 'Website',
  youtube: 'YouTube captions',
  s3: 'S3 bucket',
  zip: 'ZIP archive',
  git: 'Git repository',
  reference: 'Scraped references',
};

export function sourceWords({ type, settings }: Pick<KnowledgeSource, 'type' | 'settings'>): string {
  const detail = ['url', 'bucket', 'path', 'title']
    .map((name) => settings[name])
    .find((value) => typeof value === 'string');
  return detail === undefined ? types[type] : `${types[type]}: ${String(detail)}`;
}
