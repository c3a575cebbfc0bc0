import { z } from 'zod';
import { shownAs, timestamp } from '../../kernel/http/replies.ts';
import { columnRecord } from './intake/fields.ts';
import { entityTypes, reportFields } from './reports/types.ts';
import {
  isBeingChecked,
  packings,
  type StagedRow,
  type Upload,
  uploadOrigins,
  uploadSources,
  uploadStatuses,
} from './types.ts';

const note = z.object({ code: z.string(), message: z.string() });
const warning = z.object({ code: z.string(), message: z.string(), count: z.int() });

/** What is known about the file. Uploads from older versions have fewer members. */
const layoutReply = z.looseObject({
  format: z.string().optional(),
  encoding: z.string().optional(),
  headers: z.array(z.string()).optional().describe('The columns as named in the file'),
  samples: z.array(z.array(z.string())).optional().describe('Some values of each column'),
  sources: z.record(z.string(), z.string()).optional().describe('The column that each field is read from'),
  unmapped: z
    .array(z.object({ header: z.string(), suggestion: z.enum(reportFields).nullable() }))
    .optional()
    .describe('Columns that are not read, with the field that each may mean'),
  missing: z.array(z.string()).optional().describe('Required fields that have no column'),
  notes: z.array(note).optional(),
  currency: z.string().nullish(),
  range: z
    .object({ from: z.iso.date(), to: z.iso.date() })
    .nullish()
    .describe('The range of a report without days'),
  dimensions: z.array(z.string()).optional().describe('The columns that the report is broken down by'),
});

const sum = z.string().nullable();
const figureReconciliation = z
  .object({
    lines: sum.describe('Over the data lines of the file, identical ones once'),
    duplicates: sum.describe('What identical lines would have added'),
    total_row: sum.describe('The file’s own total row; null when it has none'),
    promoted: sum.describe('What production holds of it; null before promotion'),
    refused: sum,
    superseded: sum.describe('Not stored, because a newer upload had stated it already'),
    unreadable: z.int().describe('Cells that could not be read; no sum contains them'),
    agrees: z.boolean(),
    difference: z.string().nullable().describe('Where the sums differ'),
  })
  .meta({ id: 'FigureReconciliation' });
const reconciliation = { agrees: z.boolean(), figures: z.record(z.string(), figureReconciliation) };
const shownFigure = figureReconciliation
  .extend({
    file_lines: sum.describe('The same as lines'),
    file_total: sum.describe('The same as total_row'),
    corrected_cells: z
      .int()
      .describe('Cells that a person corrected during review; the sums have them corrected'),
  })
  .meta({ id: 'ShownFigureReconciliation' });
const upload = { upload_id: z.uuid(), status: z.string() };
export const reconciliationReply = z
  .object({
    ...upload,
    agrees: z.boolean(),
    figures: z.record(z.string(), shownFigure),
    notes: z.array(note),
  })
  .meta({ id: 'UploadReconciliation' });

export const uploadReply = z
  .object({
    upload_id: z.uuid(),
    workspace_id: z.uuid(),
    client_id: z.uuid().nullable(),
    platform: z.string(),
    platform_version: z
      .int()
      .nullable()
      .describe('Of the tenant’s own profile that it is read with; null for built-in platforms'),
    source: z.enum(uploadSources),
    origin: z.enum(uploadOrigins).describe('How the file came'),
    date_from: z.iso.date().nullable().describe('The range of a report that names none itself'),
    date_to: z.iso.date().nullable(),
    filename: z.string().nullable(),
    unpacked: z
      .object({
        from: z.array(z.enum(packings)).describe('From the outside in'),
        archive: z.string().nullable().describe('The name of the file that was sent'),
        path: z.string().nullable().describe('The place of the report in a ZIP archive'),
        sheet: z.string().nullable().describe('The sheet of a workbook that was read'),
        other_sheets: z.array(z.string()).describe('Visible sheets that were not read'),
        is_1904: z.boolean(),
      })
      .nullable()
      .describe('How the report was unpacked; null when the file came as it is read'),
    file_url: z.string(),
    status: z.enum(uploadStatuses),
    force_partial: z.boolean(),
    review: z.boolean(),
    mapping: columnRecord(z.string().nullable()),
    job_id: z.uuid(),
    row_count: z.int().nullable(),
    total_rows: z.int(),
    valid_rows: z.int(),
    invalid_rows: z.int(),
    promoted_rows: z.int(),
    failed_rows: z.int(),
    campaigns_upserted: z.int(),
    ad_sets_upserted: z.int(),
    ads_upserted: z.int(),
    daily_metrics_upserted: z.int(),
    period_metrics_upserted: z.int(),
    breakdowns_stored: z.int(),
    reconciliation: z.object(reconciliation).nullable(),
    blockers: z
      .array(
        z.object({
          code: z.string(),
          message: z.string(),
          column: z.string().optional(),
          lines: z.int().optional(),
        }),
      )
      .describe('What a person has to decide before the upload can be promoted'),
    affected_dates: z.array(z.iso.date()),
    warnings: z.array(warning),
    layout: layoutReply.nullable(),
    checking: z
      .boolean()
      .describe(
        'Held and being read again with another mapping; the figures are still those of the previous one',
      ),
    error_code: z.string().nullable(),
    error_text: z.string().nullable(),
    event_emitted: z.boolean(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
    finished_at: timestamp.nullable(),
    undone_at: timestamp.nullable(),
  })
  .meta({ id: 'Upload' });

export function renderUpload(upload: Upload): z.output<typeof uploadReply> {
  return { ...shownAs(uploadReply, upload), checking: isBeingChecked(upload) };
}

export const stagedRowReply = z
  .object({
    row_index: z.int(),
    line: z.int().nullable().describe('The line of the file, from 1'),
    entity_type: z.enum(entityTypes),
    natural_key_hash: z.string(),
    raw_data: columnRecord(z.unknown()),
    validation_status: z.enum(['pending', 'valid', 'invalid']),
    validation_errors: z
      .array(
        z.object({ field: z.string(), code: z.string(), message: z.string(), value: z.string().nullable() }),
      )
      .nullable(),
    promotion_error: note.nullable(),
    promotion_warning: note.nullable(),
  })
  .meta({ id: 'StagedRow' });

export function renderStagedRow(row: StagedRow): z.output<typeof stagedRowReply> {
  return shownAs(stagedRowReply, row);
}

const exampleRow = z.object({
  row_index: z.int(),
  message: z.string(),
  value: z.string().nullable().describe('The value of the field in the file'),
  cells: columnRecord(z.string()).describe('The row by column; only some columns of wide rows'),
});

export const problemsReply = z
  .object({
    data: z.array(
      z
        .object({
          code: z.string(),
          field: z.string(),
          title: z.string(),
          fix: z.string(),
          count: z.int().describe('Rows with this problem; a row with several problems counts for each'),
          message: z.string().describe('The message of the first example'),
          example_rows: z.array(exampleRow),
        })
        .meta({ id: 'UploadProblem' }),
    ),
    refused_rows: z.int().describe('How many rows were refused; each counts once'),
    has_more: z.boolean().describe('There are less frequent reasons that are not listed'),
  })
  .meta({ id: 'UploadProblems' });
