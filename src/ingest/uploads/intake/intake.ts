import type { Readable } from 'node:stream';
import { forgetUnlessCommitted, recordFile } from '../../../kernel/files/service.ts';
import type { StoredContent } from '../../../kernel/files/types.ts';
import type { Workbooks } from '../../../kernel/files/workbooks.ts';
import type { FileDoor, ReportTarget } from '../../../kernel/house/doors.ts';
import type { BeforeCommit } from '../../../kernel/jobs/dispatch/service.ts';
import { dispatchIn, type JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { type FieldProblem, isSluiceError, SluiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { uploadErrors } from '../errors.ts';
import { recordMove } from '../events.ts';
import { findCurrent, ownNames } from '../platforms/service.ts';
import { insertUpload, workspaceExists } from '../store.ts';
import {
  pipelineName,
  type Upload,
  type UploadOrigin,
  type UploadSource,
  type WorkspaceKey,
} from '../types.ts';
import { type IntakeFields, readIntakeFields } from './fields.ts';
import { readMapping } from './mapping-store.ts';
import type { UnfoldDeps, UnfoldedReport, UnfoldTask } from './unfolding/types.ts';
import { unfold } from './unfolding/unfold.ts';

export interface IntakeDeps extends JobsDeps, UnfoldDeps {
  /** Reads workbooks in a thread. */
  workbooks: Workbooks;
  maxUploadBytes: number;
}

/** At least one: a file without a report is refused. */
export type UploadsOfFile = readonly [Upload, ...Upload[]];

export interface Intake {
  tenantId: string;
  userId: string;
  /** The caller, or whom a service names. */
  createdBy: string;
  ipAddress?: string | null;
  fields: IntakeFields;
  /** How the file came; with a request, when it is not given. */
  origin?: UploadOrigin;
  filename: string | null;
  stored: StoredContent;
  fileField?: FileField;
  /** Aborts when nobody waits for the upload any more; without it the file does not come with a request. */
  signal?: AbortSignal;
  beforeCommit?: BeforeCommit<UploadsOfFile>;
}

/** The field of a request that holds the file; problems of the file point at it. */
export type FileField = 'file' | 'file_ref';

/** Says what is wrong with a file and what is allowed. */
export function fileProblem(
  { maxUploadBytes }: Pick<IntakeDeps, 'maxUploadBytes'>,
  { field = 'file', what }: { field?: FileField | undefined; what: string },
): FieldProblem[] {
  const allowed = `it must be a CSV or JSON file of 1 to ${maxUploadBytes} bytes; XLSX, gzip and ZIP are unpacked`;
  return [{ pointer: `/${field}`, message: `${what}; ${allowed}` }];
}

/** Stores the bytes of a file. If the file is too large, nothing is kept. */
export async function storeContent(
  deps: IntakeDeps,
  content: Readable,
  field?: FileField,
): Promise<StoredContent> {
  try {
    return await deps.files.store(content, { maxBytes: deps.maxUploadBytes });
  } catch (error) {
    if (!isSluiceError(error) || error.code !== 'file_too_large') throw error;
    throw uploadErrors.raise.report_too_large(
      `The file has more than ${deps.maxUploadBytes} bytes, the most allowed`,
      {
        details: { max_bytes: deps.maxUploadBytes },
        fields: fileProblem(deps, { field, what: 'is too large' }),
        cause: error,
      },
    );
  }
}

/**
 * Creates the uploads of a file, with their files, jobs and events, in one transaction: an archive becomes all of its
 * reports or nothing. If that fails, the stored bytes are deleted. Returns them in the order of the archive.
 */
export async function takeInAll(deps: IntakeDeps, intake: Intake): Promise<UploadsOfFile> {
  const keys = [intake.stored.storageKey];
  try {
    await deps.quotas.assertRoom(intake.tenantId);
    const { definition, version: platformVersion } = await getProfile(deps, intake);
    const reports = await unfoldReports(deps, { ...intake, definition });
    keys.push(...reports.map(({ stored }) => stored.storageKey));
    const uploads = await deps.db.tenant(intake.tenantId, async (tx) => {
      const made: Upload[] = [];
      for (const report of reports)
        made.push(await recordUpload(deps, tx, { ...intake, ...report, platformVersion }));
      const [first, ...others] = made;
      if (first === undefined) throw new Error('A file without reports was not refused');
      await intake.beforeCommit?.(tx, [first, ...others]);
      return [first, ...others] as const;
    });
    // Only what was unpacked is read from now on. If this fails, no row names the bytes, and the sweep removes them.
    const isUnpacked = reports.every(({ unpacked }) => unpacked !== null);
    if (isUnpacked) await deps.files.remove(intake.stored.storageKey).catch(() => {});
    return uploads;
  } catch (error) {
    for (const key of new Set(keys)) await forgetUnlessCommitted(deps.files, key, error);
    throw error;
  }
}

/** The same for callers that need only the first upload of the file. */
export async function takeIn(deps: IntakeDeps, intake: Intake): Promise<Upload> {
  const [first] = await takeInAll(deps, intake);
  return first;
}

/** The profile of now. A platform may be deleted after the form was read. */
async function getProfile({ db }: IntakeDeps, { tenantId, fields: { platform: name } }: Intake) {
  const found = await db.read(tenantId, (tx) => findCurrent(tx, { tenantId, name }));
  if (found !== null) return found;
  throw uploadErrors.raise.platform_not_found(`The tenant has no platform ${name}`, {
    fields: [{ pointer: '/platform', message: 'must be a platform from GET /api/uploads/platforms' }],
  });
}

/** Errors of the file point at the field that it came in. */
async function unfoldReports(
  deps: IntakeDeps,
  intake: Intake & Pick<UnfoldTask, 'definition'>,
): Promise<UnfoldedReport[]> {
  const { tenantId, signal, fileField: field } = intake;
  const openWorkbook = signal ? deps.workbooks.forRequest({ tenantId, signal }) : deps.workbooks.forJob();
  try {
    return await unfold(deps, { ...intake, openWorkbook });
  } catch (error) {
    if (!isSluiceError(error) || error.kind !== 'invalid' || error.fields.length > 0) throw error;
    const { code, definition, message, details } = error;
    const fields = fileProblem(deps, { field, what: wrongWith(error) });
    throw new SluiceError(code, definition, message, { details, fields, cause: error });
  }
}

/** Goes on after the name of the field. */
function wrongWith({ code, message, details }: SluiceError): string {
  if (code === 'upload_empty') return 'is empty';
  return typeof details.detected === 'string' ? `is ${details.detected}` : message;
}

type RecordedReport = Intake & UnfoldedReport & { platformVersion: number | null };

async function recordUpload(deps: IntakeDeps, tx: Tx, intake: RecordedReport): Promise<Upload> {
  const { tenantId, userId, createdBy, fields, filename, platformVersion } = intake;
  await assertWorkspace(tx, { tenantId, workspaceId: fields.workspace_id });
  const uploadId = newId();
  const file = await recordFile(tx, {
    tenantId,
    name: filename ?? 'upload',
    mediaType: 'application/octet-stream',
    createdBy: userId,
    files: deps.files,
    stored: intake.stored,
  });
  const job = await dispatchIn(deps, tx, tenantId, {
    pipeline: pipelineName,
    subjectId: uploadId,
    maxRetries: 5,
    createdBy: userId,
    userId,
    workspaceId: fields.workspace_id,
    fileId: file.fileId,
    ipAddress: intake.ipAddress ?? null,
  });
  const mapping = { ...(await readMapping(tx, { tenantId, ...fields })), ...fields.mapping };
  const upload = await tx.as('sluice_intake', (own) =>
    insertUpload(own, {
      tenantId,
      uploadId,
      workspaceId: fields.workspace_id,
      clientId: fields.client_id ?? null,
      platform: fields.platform,
      platformVersion,
      source: fields.source,
      origin: intake.origin ?? 'request',
      dateFrom: fields.date_from ?? null,
      dateTo: fields.date_to ?? null,
      filename,
      unpacked: intake.unpacked,
      fileId: file.fileId,
      fileUrl: `${file.storage}:${file.storageKey}`,
      forcePartial: fields.force_partial,
      review: fields.review,
      mapping,
      jobId: job.jobId,
      createdBy,
      userId,
    }),
  );
  await recordMove(deps, tx, upload, 'pending', { source: upload.source, size_bytes: file.sizeBytes });
  return upload;
}

/** A workspace of another tenant is refused with the same words as one that does not exist. */
async function assertWorkspace(tx: Tx, { tenantId, workspaceId }: WorkspaceKey): Promise<void> {
  if (await workspaceExists(tx, { tenantId, workspaceId })) return;
  throw uploadErrors.raise.workspace_unknown(`The tenant has no workspace ${workspaceId}`, {
    fields: [{ pointer: '/workspace_id', message: 'must be a workspace of the tenant' }],
  });
}

/** The way in for reports that do not come with a request. */
export function uploadDoor(deps: IntakeDeps): FileDoor<ReportTarget> {
  return {
    maxBytes: deps.maxUploadBytes,
    check: async (tenantId, target) => {
      const { workspace_id: workspaceId } = fieldsOf(target, { own: await ownNames(deps, tenantId) });
      await deps.db.tenant(tenantId, (tx) => assertWorkspace(tx, { tenantId, workspaceId }));
    },
    takeIn: async ({ target, tenantId, userId, fileName, content, record }) => {
      await takeInAll(deps, {
        ...{
          tenantId,
          userId,
          createdBy: userId,
          filename: fileName,
          fields: fieldsOf(target, { own: await ownNames(deps, tenantId) }),
          origin: target.origin ?? 'adapter',
        },
        stored: await storeContent(deps, content),
        beforeCommit: (tx, uploads) => {
          const [{ jobId, uploadId }] = uploads;
          return record(tx, { jobId, uploadId, uploadIds: uploads.map((each) => each.uploadId) });
        },
      });
    },
  };
}

/** The fields of a report that comes without a form: from a watched folder, through an adapter, by a pull. */
export function fieldsOf(
  { platform, workspaceId, clientId, range }: ReportTarget,
  { own, source = 'api' }: { own: readonly string[]; source?: UploadSource },
): IntakeFields {
  const days = range ? { date_from: range.from, date_to: range.to } : {};
  const fields = { workspace_id: workspaceId, client_id: clientId ?? null, platform, source, ...days };
  return readIntakeFields(fields, own);
}
