import type { Correction } from '../corrections/types.ts';
import { type AdditiveField, additiveFields } from '../reports/types.ts';
import type { FigureReconciliation, Upload } from '../types.ts';

/** A figure under the names of its stored form and of the API's. */
export interface ShownFigure extends FigureReconciliation {
  file_lines: string | null;
  file_total: string | null;
  /** Cells of the figure that a person corrected. */
  corrected_cells: number;
}

export interface ShownReconciliation {
  upload_id: string;
  status: string;
  agrees: boolean;
  figures: Record<AdditiveField, ShownFigure>;
  notes: { code: string; message: string }[];
}

const unstated: FigureReconciliation = {
  lines: null,
  duplicates: null,
  total_row: null,
  promoted: null,
  refused: null,
  superseded: null,
  unreadable: 0,
  agrees: true,
  difference: null,
};

/** All additive figures, also those that the file does not state, and what a person should know about the sums. */
export function showReconciliation(
  upload: Pick<Upload, 'uploadId' | 'status' | 'layout'>,
  { agrees, figures }: NonNullable<Upload['reconciliation']>,
  corrections: readonly Correction[],
): ShownReconciliation {
  const sources = (upload.layout?.sources ?? {}) as Record<string, string | undefined>;
  const shown = additiveFields.map((field): [AdditiveField, ShownFigure] => {
    const figure = figures[field] ?? unstated;
    const corrected = corrections.filter(({ header }) => header === sources[field]).length;
    return [
      field,
      { ...figure, file_lines: figure.lines, file_total: figure.total_row, corrected_cells: corrected },
    ];
  });
  return {
    upload_id: upload.uploadId,
    status: upload.status,
    agrees,
    figures: Object.fromEntries(shown) as Record<AdditiveField, ShownFigure>,
    notes: [
      ...shown.flatMap(([field, figure]) => figureNotes(field, figure)),
      ...correctionNotes(corrections),
    ],
  };
}

function figureNotes(field: AdditiveField, figure: ShownFigure): ShownReconciliation['notes'] {
  const name = field.replaceAll('_', ' ');
  const { duplicates, superseded, unreadable, difference } = figure;
  const isSome = (sum: string | null) => sum !== null && sum !== '0';
  return [
    ...(difference === null ? [] : [{ code: 'sums_differ', message: `${name}: ${difference}` }]),
    ...(isSome(duplicates)
      ? [
          {
            code: 'identical_lines',
            message: `${name}: identical lines and subtotals would have added ${duplicates}.`,
          },
        ]
      : []),
    ...(isSome(superseded)
      ? [{ code: 'superseded', message: `${name}: a newer upload had stated ${superseded} already.` }]
      : []),
    ...(unreadable > 0
      ? [
          {
            code: 'unreadable_cells',
            message: `${name}: ${unreadable} cells cannot be read; no sum has them.`,
          },
        ]
      : []),
  ];
}

const correctionsShown = 20;

function correctionNotes(corrections: readonly Correction[]): ShownReconciliation['notes'] {
  const shown = corrections.slice(0, correctionsShown).map(({ line, rowIndex, header, ...one }) => ({
    code: 'cell_corrected',
    message:
      `${line === null ? `Row ${rowIndex}` : `Line ${line}`}, column ${JSON.stringify(header)}: ` +
      `${JSON.stringify(one.oldValue)} was corrected to ${JSON.stringify(one.newValue)} by ${one.userId}.`,
  }));
  const rest = corrections.length - shown.length;
  if (rest <= 0) return shown;
  return [...shown, { code: 'cell_corrected', message: `${rest} more cells were corrected.` }];
}
