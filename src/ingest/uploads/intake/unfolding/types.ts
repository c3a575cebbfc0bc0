import type { Files, StoredContent } from '../../../../kernel/files/types.ts';
import type { OpenWorkbook } from '../../../../lib/rows/xlsx/workbook-readers.ts';
import type { PlatformDefinition } from '../../reports/types.ts';
import type { Unpacked } from '../../types.ts';
import type { IntakeFields } from '../fields.ts';

/** A report as it is read: text that is stored by itself. */
export interface UnfoldedReport {
  filename: string | null;
  stored: StoredContent;
  /** Null when the file that was sent is the report. */
  unpacked: Unpacked | null;
}

export interface UnfoldDeps {
  files: Files;
  /** How large all reports of one file may become together. */
  maxUnfoldedBytes: number;
  /** How many reports one archive may hold. */
  maxArchiveReports: number;
}

export interface UnfoldTask {
  stored: StoredContent;
  filename: string | null;
  /** The platform's profile and the mapping tell which sheet of a workbook is the report. */
  definition: PlatformDefinition;
  fields: Pick<IntakeFields, 'mapping'>;
  openWorkbook: OpenWorkbook;
}
