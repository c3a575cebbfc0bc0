import PostalMime, { type Address, type Email } from 'postal-mime';
import { messageOf } from '../../../../lib/errors.ts';
import { detectKind } from '../detect.ts';
import { documentErrors } from '../errors.ts';
import { readHtml } from '../html/html.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import type { Converted, ConvertOptions } from '../types.ts';

const limits = { maxNestingDepth: 32, maxHeadersSize: 1024 * 1024 };

/** A message: its subject, who wrote it to whom and when, its text, and the names of what is attached. */
export async function readEml(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const mail = await parse(bytes);
  options.onProgress();
  if (mail.headers.length === 0) {
    throw documentErrors.raise.document_is_broken('The file has no headers of a message');
  }
  const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
  const subject = mail.subject?.replace(/\s+/g, ' ').trim() ?? '';
  const from = mail.from === undefined ? '' : namesOf([mail.from]);
  const lines = [
    subject === '' ? '' : `Subject: ${subject}`,
    from === '' ? '' : `From: ${from}`,
    namesOf(mail.to) === '' ? '' : `To: ${namesOf(mail.to)}`,
    namesOf(mail.cc) === '' ? '' : `Cc: ${namesOf(mail.cc)}`,
    mail.date === undefined ? '' : `Date: ${mail.date}`,
  ];
  for (const line of lines) if (line !== '') writer.listItem(line, { depth: 0, number: null });
  const notes: string[] = [];
  const body = await bodyOf(mail, options);
  const attached = mail.attachments.map(({ filename, mimeType }) => filename ?? mimeType);
  if (attached.length > 0) {
    notes.push(
      `Attachments were left out: ${attached.slice(0, 20).join(', ')}. Add them as files of their own.`,
    );
  }
  const end = attached.length > 0 ? `Attachments: ${attached.join(', ')}` : '';
  const text = [writer.toString(), body.trim(), end].filter((part) => part !== '').join('\n\n');
  const metadata = {
    ...(from === '' ? {} : { author: from }),
    ...(subject === '' ? {} : { subject }),
    ...(mail.date === undefined ? {} : { created: mail.date }),
  };
  return { title: subject === '' ? null : subject, text, notes, metadata };
}

async function parse(bytes: Buffer): Promise<Email> {
  try {
    return await PostalMime.parse(bytes, limits);
  } catch (error) {
    throw documentErrors.raise.document_is_broken(`The message cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** The HTML has the structure, unless it is a picture with a text beside it. */
async function bodyOf({ html = '', text = '' }: Email, options: ConvertOptions): Promise<string> {
  if (html.trim() === '') return text;
  const bytes = Buffer.from(html, 'utf8');
  const kind = detectKind(bytes, { name: 'mail.html' });
  if (kind !== 'html') return text;
  try {
    const read = await readHtml(bytes, { ...options, charset: 'utf-8' });
    return read.text.trim().length < text.trim().length / 2 ? text : read.text;
  } catch {
    return text;
  }
}

function namesOf(addresses: readonly Address[] | undefined): string {
  return (addresses ?? [])
    .map(({ name, address }) => (name && address ? `${name} <${address}>` : (address ?? name)))
    .filter((text) => text !== '')
    .join(', ');
}
