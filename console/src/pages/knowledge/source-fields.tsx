import { Checkbox, NumberInput, Select, Textarea, TextInput } from '@mantine/core';
import { messageAt } from '../../parts/form-dialog.tsx';
import { GitFields, S3Fields } from './place-fields.tsx';

type SourceType = 'website' | 'folder' | 'git' | 's3' | 'zip' | 'youtube' | 'markdown' | 'text' | 'html';

export interface SourceDraft {
  type: SourceType;
  url: string;
  path: string;
  title: string;
  content: string;
  language: string;
  maxPages: number | null;
  hasSitemap: boolean;
  ref: string;
  tokenSecret: string;
  endpoint: string;
  bucket: string;
  prefix: string;
  hasPathStyle: boolean;
  accessKeyIdSecret: string;
  secretAccessKeySecret: string;
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
  ref: '',
  tokenSecret: '',
  endpoint: '',
  bucket: '',
  prefix: '',
  hasPathStyle: false,
  accessKeyIdSecret: '',
  secretAccessKeySecret: '',
};

const types = [
  { value: 'website', label: 'A website' },
  { value: 'folder', label: 'A folder on the server' },
  { value: 'git', label: 'A Git repository' },
  { value: 's3', label: 'An S3 bucket, or a part of it' },
  { value: 'zip', label: 'A ZIP archive on the web' },
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
      {draft.type === 'git' ? <GitFields draft={draft} change={change} error={error} /> : null}
      {draft.type === 's3' ? <S3Fields draft={draft} change={change} error={error} /> : null}
      {draft.type === 'zip' ? (
        <TextInput
          label="Address of the archive"
          description="An export of Notion or Confluence, or any ZIP of documents."
          type="url"
          required
          value={draft.url}
          error={messageAt(error, 'url')}
          onChange={(event) => change({ ...draft, url: event.currentTarget.value })}
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
  if (draft.type === 's3') {
    const { bucket, accessKeyIdSecret, secretAccessKeySecret } = draft;
    return [bucket, accessKeyIdSecret, secretAccessKeySecret].every((text) => text.trim() !== '');
  }
  return (draft.type === 'folder' ? draft.path : draft.url).trim() !== '';
}

function s3Body(draft: SourceDraft) {
  return {
    type: 's3' as const,
    bucket: draft.bucket.trim(),
    prefix: draft.prefix.trim(),
    path_style: draft.hasPathStyle,
    access_key_id_secret: draft.accessKeyIdSecret.trim(),
    secret_access_key_secret: draft.secretAccessKeySecret.trim(),
    ...(draft.endpoint.trim() === '' ? {} : { endpoint: draft.endpoint.trim() }),
  };
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
  if (type === 's3') return s3Body(draft);
  const url = draft.url.trim();
  if (type === 'zip') return { type, url };
  if (type === 'git') {
    return {
      type,
      url,
      path: draft.path.trim(),
      ...(draft.ref.trim() === '' ? {} : { ref: draft.ref.trim() }),
      ...(draft.tokenSecret.trim() === '' ? {} : { token_secret: draft.tokenSecret.trim() }),
    };
  }
  if (type === 'youtube') {
    return { type, url, ...(draft.language.trim() === '' ? {} : { language: draft.language.trim() }) };
  }
  const pages = draft.maxPages === null ? {} : { max_pages: draft.maxPages };
  return { type, url, sitemap: draft.hasSitemap, ...pages };
}
