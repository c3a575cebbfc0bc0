import { unparkJob } from '../../../kernel/jobs/shared/shared-store.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { uploadErrors } from '../errors.ts';
import { recordMove } from '../events.ts';
import { getUploadIn, notHeld, type UploadServiceDeps } from '../service.ts';
import { isBeingChecked, type OwnedUploadKey, type StagedRow, type Upload } from '../types.ts';
import {
  askForNewReading,
  deleteCorrections,
  listCorrections,
  listRefusedCells,
  saveCorrection,
} from './correction-store.ts';
import { type Correction, maxCorrections } from './types.ts';

export interface CorrectedRow {
  rowIndex: number;
  /** Column to value, by the names that the rows of the upload are listed with. */
  cells: Record<string, string>;
}

/** Corrects cells of refused rows: the file is read again with them, and the upload stays held. */
export function correct(
  deps: UploadServiceDeps,
  key: OwnedUploadKey,
  { rows, userId }: { rows: readonly CorrectedRow[]; userId: string },
): Promise<Upload> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await holdStill(tx, key);
    const known = await listCorrections(tx, { ...upload, limit: maxCorrections });
    const rowIndexes = rows.map(({ rowIndex }) => rowIndex);
    const refused = await listRefusedCells(tx, { ...upload, rowIndexes });
    const made = rows.flatMap((row) => correctionsOf(upload, row, { known, refused, userId }));
    const places = new Set(
      [...known, ...made].map(({ rowIndex, columnIndex }) => `${rowIndex} ${columnIndex}`),
    );
    if (places.size > maxCorrections) throw tooMany(upload);
    await tx.as('sluice_intake', async (own) => {
      for (const one of made) await saveCorrection(own, upload, one);
    });
    return readAgain(deps, tx, upload, { corrected: made, correctedBy: userId });
  });
}

/** Takes corrections back, of one row or of all: the file is read again as it is. */
export function takeBack(
  deps: UploadServiceDeps,
  key: OwnedUploadKey,
  { rowIndex, userId }: { rowIndex: number | null; userId: string },
): Promise<Upload> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await holdStill(tx, key);
    const taken = await tx.as('sluice_intake', (own) => deleteCorrections(own, { ...upload, rowIndex }));
    if (taken.length === 0) return upload;
    const back = taken.map((one) => ({ ...one, oldValue: one.newValue, newValue: one.oldValue }));
    return readAgain(deps, tx, upload, { corrected: back, correctedBy: userId });
  });
}

/** The upload, held for review and not being read. */
async function holdStill(tx: Tx, key: OwnedUploadKey): Promise<Upload> {
  const upload = await getUploadIn(tx, key);
  if (upload.status !== 'staging_complete' || !upload.review) throw notHeld(upload);
  if (!isBeingChecked(upload)) return upload;
  throw uploadErrors.raise.upload_state_conflict(
    `Upload ${upload.uploadId} is being read again; correct its rows when that has ended`,
    { details: { status: upload.status } },
  );
}

/** Two people who correct at once wait for each other here: the second finds the upload being read. */
async function readAgain(
  deps: UploadServiceDeps,
  tx: Tx,
  upload: Upload,
  { corrected, correctedBy }: { corrected: readonly Omit<Correction, 'createdAt'>[]; correctedBy: string },
): Promise<Upload> {
  if (corrected.length === 0) return upload;
  if (!(await tx.as('sluice_intake', (own) => askForNewReading(own, upload)))) throw notHeld(upload);
  const cells = corrected.slice(0, 100).map(({ rowIndex, line, header, oldValue, newValue }) => ({
    row_index: rowIndex,
    line,
    header,
    old_value: oldValue,
    new_value: newValue,
  }));
  const data = { corrected_by: correctedBy, cells: corrected.length, corrections: cells };
  await recordMove(deps, tx, upload, 'corrected', data);
  await unparkJob(tx, upload);
  tx.afterCommit(() => deps.wake.announce('jobs'));
  return getUploadIn(tx, upload);
}

interface KnownCells {
  known: readonly Correction[];
  refused: readonly Pick<StagedRow, 'rowIndex' | 'line' | 'rawData'>[];
  userId: string;
}

function correctionsOf(
  upload: Upload,
  { rowIndex, cells }: CorrectedRow,
  { known, refused, userId }: KnownCells,
): Omit<Correction, 'createdAt'>[] {
  const row = refused.find((one) => one.rowIndex === rowIndex);
  const before = known.filter((one) => one.rowIndex === rowIndex);
  if (row === undefined && before.length === 0) throw notRefused(rowIndex);
  const columns = columnNames(upload);
  return Object.entries(cells).map(([header, newValue]) => {
    const columnIndex = columns.indexOf(header);
    const earlier = before.find((one) => one.columnIndex === columnIndex);
    const stated = row === undefined ? undefined : row.rawData[header];
    if (columnIndex === -1) throw unknownColumn(header, columns);
    // What the file says in other cells of a row that is valid by now is no longer known.
    if (earlier === undefined && row === undefined) throw notRefused(rowIndex);
    const oldValue = earlier?.oldValue ?? String(stated ?? '');
    const line = earlier?.line ?? row?.line ?? null;
    return { rowIndex, columnIndex, line, header, oldValue, newValue, userId };
  });
}

/** The names of the file's columns as its rows are listed with them: repeated ones are numbered. */
function columnNames({ layout }: Upload): string[] {
  const headers = Array.isArray(layout?.headers) ? (layout.headers as string[]) : [];
  const uses = new Map<string, number>();
  return headers.map((header) => {
    const use = (uses.get(header) ?? 0) + 1;
    uses.set(header, use);
    return use === 1 ? header : `${header} (${use})`;
  });
}

function notRefused(rowIndex: number): Error {
  return uploadErrors.raise.row_not_correctable(
    `Row ${rowIndex} was not refused by validation, so its cells cannot be corrected here`,
    { details: { row_index: rowIndex } },
  );
}

function unknownColumn(header: string, columns: readonly string[]): Error {
  const shown = columns.slice(0, 30).map((name) => JSON.stringify(name));
  return uploadErrors.raise.column_unknown(
    `The file has no column ${JSON.stringify(header.slice(0, 200))}; it has ${shown.join(', ')}`,
    { fields: [{ pointer: '/rows', message: 'names a column that the file does not have' }] },
  );
}

function tooMany({ uploadId }: Upload): Error {
  return uploadErrors.raise.too_many_corrections(
    `Upload ${uploadId} would have more than ${maxCorrections} corrected cells`,
  );
}
