import sax from 'sax';
import { s3Errors } from './errors.ts';
import type { S3Object, S3Page, UnfinishedUpload, UploadPage } from './types.ts';

/** What the server says about a failure, from its XML; empty where it says nothing. */
export interface S3Complaint {
  code: string;
  message: string;
  region: string;
}

/** A response with status 200 may still hold an error: long copies start it before their outcome is known. */
export function readComplaint(xml: string): S3Complaint | null {
  const { root, one } = readTree(xml);
  if (root !== 'Error') return null;
  return { code: one('Error/Code'), message: one('Error/Message'), region: one('Error/Region') };
}

/** `token`: how to continue after an empty page that is not the last. */
export function readObjects(xml: string): S3Page & { token: string | null } {
  const tree = readTree(xml);
  if (tree.root !== 'ListBucketResult') throw unreadable('a list of objects', tree.root);
  const keyOf = keyReader(tree.one('ListBucketResult/EncodingType'));
  const objects = tree.all('ListBucketResult/Contents').map(
    (entry): S3Object => ({
      key: keyOf(entry.Key),
      sizeBytes: sizeOf(entry.Size),
      etag: bareEtag(entry.ETag),
      lastModified: dateOf(entry.LastModified),
    }),
  );
  const isLast = tree.one('ListBucketResult/IsTruncated') !== 'true';
  const next = isLast ? null : (objects.at(-1)?.key ?? null);
  if (isLast || next !== null) return { objects, next, token: null };
  const token = tree.one('ListBucketResult/NextContinuationToken');
  if (token === '') throw unreadable('the token of the next page', '');
  return { objects, next, token };
}

export function readUploads(xml: string): UploadPage {
  const tree = readTree(xml);
  if (tree.root !== 'ListMultipartUploadsResult') throw unreadable('a list of uploads', tree.root);
  const keyOf = keyReader(tree.one('ListMultipartUploadsResult/EncodingType'));
  const uploads = tree.all('ListMultipartUploadsResult/Upload').map(
    (entry): UnfinishedUpload => ({
      key: keyOf(entry.Key),
      uploadId: entry.UploadId ?? '',
      startedAt: dateOf(entry.Initiated),
    }),
  );
  const isLast = tree.one('ListMultipartUploadsResult/IsTruncated') !== 'true';
  return { uploads, next: isLast ? null : (uploads.at(-1) ?? null) };
}

export function readUploadId(xml: string): string {
  const tree = readTree(xml);
  const uploadId = tree.one('InitiateMultipartUploadResult/UploadId');
  if (uploadId === '') throw unreadable('the id of an upload', tree.root);
  return uploadId;
}

/** Of a finished multipart upload or a copy. */
export function readEtag(xml: string): string {
  const tree = readTree(xml);
  const etag = bareEtag(tree.one(`${tree.root}/ETag`));
  if (etag === '') throw unreadable('an etag', tree.root);
  return etag;
}

export function bareEtag(text: string | undefined): string {
  return (text ?? '').replace(/^W\//, '').replaceAll('"', '');
}

export function dateOf(text: string | undefined): Date {
  const date = new Date(text ?? '');
  if (Number.isNaN(date.getTime())) throw unreadable('a time', text ?? '');
  return date;
}

export function sizeOf(text: string | undefined): number {
  if (!/^\d{1,15}$/.test(text ?? '')) throw unreadable('a size', text ?? '');
  return Number(text);
}

export function unreadable(wanted: string, found: string): Error {
  return s3Errors.raise.s3_answer_unreadable(
    `The response should have ${wanted}, but has ${found === '' ? 'nothing' : JSON.stringify(found.slice(0, 100))}`,
  );
}

type Entry = Record<string, string | undefined>;

interface Tree {
  root: string;
  /** The text of the element at this path; empty without one. */
  one(path: string): string;
  /** Each element at this path with the texts of its children. */
  all(path: string): Entry[];
}

const maxDepth = 20;

/** Entities that the document declares are not expanded, and nothing external is loaded. */
function readTree(xml: string): Tree {
  const parser = sax.parser(true, { position: false });
  const texts = new Map<string, string>();
  const entries = new Map<string, Entry[]>();
  const open: { name: string; text: string; children: Entry }[] = [];
  let root = '';
  parser.onopentag = ({ name }) => {
    if (open.length === 0) root = name;
    if (open.length >= maxDepth) throw unreadable('at most 20 levels', name);
    open.push({ name, text: '', children: Object.create(null) });
  };
  parser.ontext = (text) => {
    const last = open.at(-1);
    if (last) last.text += text;
  };
  parser.oncdata = parser.ontext;
  parser.onclosetag = () => {
    const path = open.map(({ name }) => name).join('/');
    const closed = open.pop();
    if (!closed) return;
    if (!texts.has(path)) texts.set(path, closed.text);
    const parent = open.at(-1);
    if (parent) parent.children[closed.name] ??= closed.text;
    // Only elements on the first level below the root repeat, and only they are needed.
    if (open.length === 1) pushTo(entries, path, closed.children);
  };
  parse(parser, xml);
  return { root, one: (path) => texts.get(path) ?? '', all: (path) => entries.get(path) ?? [] };
}

function pushTo(entries: Map<string, Entry[]>, path: string, entry: Entry): void {
  const known = entries.get(path);
  if (known) known.push(entry);
  else entries.set(path, [entry]);
}

function parse(parser: sax.SAXParser, xml: string): void {
  parser.onerror = (error) => {
    throw s3Errors.raise.s3_answer_unreadable(
      `The response is not XML; it begins with ${JSON.stringify(xml.slice(0, 100))}`,
      { cause: error },
    );
  };
  parser.write(xml.replace(/^\uFEFF/, '')).close();
}

/** Servers URL-encode keys on request, because XML cannot hold every character; some servers do not support it. */
function keyReader(encoding: string): (text: string | undefined) => string {
  if (encoding.toLowerCase() !== 'url') return (text) => text ?? '';
  return (text) => {
    try {
      return decodeURIComponent((text ?? '').replaceAll('+', ' '));
    } catch (error) {
      throw s3Errors.raise.s3_answer_unreadable('A key in the list is not URL-encoded correctly', {
        cause: error,
      });
    }
  };
}
