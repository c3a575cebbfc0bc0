import { Checkbox, NumberInput, Select, Textarea, TextInput } from '@mantine/core';
import { messageAt } from '../../parts/form-dialog.tsx';

type SourceType = 'website' | 'folder' | 'youtube' | 'markdown' | 'text' | 'html';

export interface SourceDraft {
  type: SourceType;
  url: string;
  path: string;
  title: string;
  content: string;
  language: string;
  maxPages: number | null;
  hasSitemap: boolean;
}

export const emptySource: SourceDraft = {
  type: 'website',
  url: '',
  path: '',
  title: '',
  content: '',
  language: '',
  maxPages: null,
  hasSitemap: true,
};

const types = [
  { value: 'website', label: 'A website' },
  { value: 'folder', label: 'A folder on the server' },
  { value: 'youtube', label: 'Captions of a YouTube video' },
  { value: 'markdown', label: 'Markdown, pasted here' },
  { value: 'text', label: 'Text, pasted here' },
  { value: 'html', label: 'HTML, pasted here' },
];

interface Props {
  draft: SourceDraft;
  change: (draft: SourceDraft) => void;
  error: unknown;
}

export function SourceFields({ draft, change, error }: Props) {
  return (
    <>
      <Select
        label="What it is"
        data={types}
        value={draft.type}
        allowDeselect={false}
        onChange={(type) => change({ ...draft, type: (type ?? 'website') as SourceType })}
      />
      {draft.type === 'website' ? <WebsiteFields draft={draft} change={change} error={error} /> : null}
      {draft.type === 'folder' ? (
        <TextInput
          label="Path"
          description="A path in your tenant’s folder, which the operator configures."
          required
          value={draft.path}
          error={messageAt(error, 'path')}
          onChange={(event) => change({ ...draft, path: event.currentTarget.value })}
        />
      ) : null}
      {draft.type === 'youtube' ? <YoutubeFields draft={draft} change={change} error={error} /> : null}
      {isPasted(draft.type) ? <PastedFields draft={draft} change={change} error={error} /> : null}
    </>
  );
}

function WebsiteFields({ draft, change, error }: Props) {
  return (
    <>
      <TextInput
        label="Address"
        type="url"
        required
        placeholder="https://example.com/docs/"
        value={draft.url}
        error={messageAt(error, 'url')}
        onChange={(event) => change({ ...draft, url: event.currentTarget.value })}
      />
      <NumberInput
        label="Pages at most"
        min={1}
        value={draft.maxPages ?? ''}
        error={messageAt(error, 'max_pages')}
        onChange={(value) => change({ ...draft, maxPages: typeof value === 'number' ? value : null })}
      />
      <Checkbox
        label="Read its sitemap as well"
        checked={draft.hasSitemap}
        onChange={(event) => change({ ...draft, hasSitemap: event.currentTarget.checked })}
      />
    </>
  );
}

function YoutubeFields({ draft, change, error }: Props) {
  return (
    <>
      <TextInput
        label="Address of the video"
        description="The site may refuse. Adding a .vtt or .srt file always works."
        type="url"
        required
        value={draft.url}
        error={messageAt(error, 'url')}
        onChange={(event) => change({ ...draft, url: event.currentTarget.value })}
      />
      <TextInput
        label="Language"
        placeholder="en"
        value={draft.language}
        error={messageAt(error, 'language')}
        onChange={(event) => change({ ...draft, language: event.currentTarget.value })}
      />
    </>
  );
}

function PastedFields({ draft, change, error }: Props) {
  return (
    <>
      <TextInput
        label="Title"
        value={draft.title}
        error={messageAt(error, 'title')}
        onChange={(event) => change({ ...draft, title: event.currentTarget.value })}
      />
      <Textarea
        label="Content"
        required
        minRows={6}
        autosize
        maxRows={14}
        value={draft.content}
        error={messageAt(error, 'content')}
        onChange={(event) => change({ ...draft, content: event.currentTarget.value })}
      />
    </>
  );
}

function isPasted(type: SourceType): type is 'markdown' | 'text' | 'html' {
  return type === 'markdown' || type === 'text' || type === 'html';
}

export function isReady(draft: SourceDraft): boolean {
  if (isPasted(draft.type)) return draft.content.trim() !== '';
  return (draft.type === 'folder' ? draft.path : draft.url).trim() !== '';
}

/** As the API wants it. */
export function sourceBody(draft: SourceDraft) {
  const { type } = draft;
  if (isPasted(type)) {
    return {
      type,
      content: draft.content,
      ...(draft.title.trim() === '' ? {} : { title: draft.title.trim() }),
    };
  }
  if (type === 'folder') return { type, path: draft.path.trim() };
  const url = draft.url.trim();
  if (type === 'youtube') {
    return { type, url, ...(draft.language.trim() === '' ? {} : { language: draft.language.trim() }) };
  }
  const pages = draft.maxPages === null ? {} : { max_pages: draft.maxPages };
  return { type, url, sitemap: draft.hasSitemap, ...pages };
}
