import { type Archive, type LentFile, openArchive } from '../../formats/archive.ts';
import type { Spool } from '../../formats/spool.ts';
import { readerErrors } from '../errors.ts';
import type { ReaderLimits } from '../types.ts';

export function openRowArchive(file: Spool | LentFile, limits: ReaderLimits): Promise<Archive> {
  const { archive_broken, archive_encrypted, archive_unfolds_too_far } = readerErrors.raise;
  return openArchive(file, {
    limits: {
      maxEntries: limits.archiveEntries,
      maxInflatedBytes: limits.inflatedBytes,
      maxRatio: limits.inflateRatio,
    },
    errors: {
      broken: (why, cause) => archive_broken(`The file is damaged. ${why}.`, { cause }),
      encrypted: (why) => archive_encrypted(`The file is encrypted. ${why}.`),
      expandsTooFar: (why) => archive_unfolds_too_far(`The file expands too far. ${why}.`),
    },
  });
}

/** What an archive is: a workbook, another kind of document, or a plain archive. */
export type ArchiveKind = { kind: 'workbook' } | { kind: 'zip' } | { kind: 'other'; what: string };

export function kindOfArchive(archive: Archive): ArchiveKind {
  const { entries } = archive;
  const has = (name: string) => archive.find(name) !== null;
  const hasFolder = (folder: string) => entries.some(({ name }) => name.startsWith(folder));
  if (has('xl/workbook.bin')) return other('a binary Excel workbook (XLSB)');
  if (has('[Content_Types].xml') || has('xl/workbook.xml')) {
    if (hasFolder('word/')) return other('a Word document (DOCX)');
    if (hasFolder('ppt/')) return other('a PowerPoint presentation (PPTX)');
    return { kind: 'workbook' };
  }
  if (has('mimetype') && has('content.xml')) return other('an OpenDocument file (ODS, ODT)');
  if (hasFolder('Index/') && entries.some(({ name }) => name.endsWith('.iwa'))) {
    return other('a Numbers, Pages or Keynote document');
  }
  return { kind: 'zip' };
}

const other = (what: string): ArchiveKind => ({ kind: 'other', what });
