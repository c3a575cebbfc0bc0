import type { Readable } from 'node:stream';
import { forgetUnlessCommitted, recordFile } from '../../../kernel/files/service.ts';
import type { Files, StoredContent } from '../../../kernel/files/types.ts';
import type { FileDoor, ReportTarget } from '../../../kernel/house/doors.ts';
import type { BeforeCommit } from '../../../kernel/jobs/dispatch/service.ts';
import { dispatchIn, type JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { type FieldProblem, isSluiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { uploadErrors } from '../errors.ts';
import { recordMove } from '../events.ts';
import { sniffReport } from '../reports/reading/sniff.ts';
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

export interface IntakeDeps extends JobsDeps {
  files: Files;
  maxUploadBytes: number;
}

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
  beforeCommit?: BeforeCommit<Upload>;
}

/** The field of a request that holds the file; problems of the file point at it. */
export type FileField = 'file' | 'file_ref';

/** Says what is wrong with a file and what is allowed. */
export function fileProblem(
  { maxUploadBytes }: Pick<IntakeDeps, 'maxUploadBytes'>,
  { field = 'file', what }: { field?: FileField | undefined; what: string },
): FieldProblem[] {
  const allowed = `it must be a CSV or JSON file of 1 to ${maxUploadBytes} bytes`;
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

const sniffBytes = 64 * 1024;

/** Refuses an empty file and one that is not text, before it is parsed. */
async function assertReadable(deps: IntakeDeps, { stored, fileField: field }: Intake): Promise<void> {
  if (stored.sizeBytes === 0) {
    const fields = fileProblem(deps, { field, what: 'is empty' });
    throw uploadErrors.raise.upload_empty('The file has no bytes', { fields });
  }
  const head = await deps.files.open(stored.storageKey, { start: 0, end: sniffBytes - 1 });
  const chunks: Buffer[] = [];
  for await (const chunk of head) chunks.push(chunk as Buffer);
  const seen = sniffReport(Buffer.concat(chunks));
  if (seen.ok) return;
  throw uploadErrors.raise.upload_not_text(`The file is ${seen.what}, and not CSV or JSON`, {
    fields: fileProblem(deps, { field, what: `is ${seen.what}` }),
  });
}

/** Creates the upload, its file, job and event in one transaction. If that fails, the stored bytes are deleted. */
export async function takeIn(deps: IntakeDeps, intake: Intake): Promise<Upload> {
  try {
    await deps.quotas.assertRoom(intake.tenantId);
    await assertReadable(deps, intake);
    return await deps.db.tenant(intake.tenantId, async (tx) => {
      const upload = await recordUpload(deps, tx, intake);
      await intake.beforeCommit?.(tx, upload);
      return upload;
    });
  } catch (error) {
    await forgetUnlessCommitted(deps.files, intake.stored.storageKey, error);
    throw error;
  }
}

async function recordUpload(deps: IntakeDeps, tx: Tx, intake: Intake): Promise<Upload> {
  const { tenantId, userId, createdBy, fields, filename } = intake;
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
      source: fields.source,
      origin: intake.origin ?? 'request',
      dateFrom: fields.date_from ?? null,
      dateTo: fields.date_to ?? null,
      filename,
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
      const { workspace_id: workspaceId } = fieldsOf(target);
      await deps.db.tenant(tenantId, (tx) => assertWorkspace(tx, { tenantId, workspaceId }));
    },
    takeIn: async ({ target, tenantId, userId, fileName, content, record }) => {
      await takeIn(deps, {
        ...{
          tenantId,
          userId,
          createdBy: userId,
          filename: fileName,
          fields: fieldsOf(target),
          origin: 'adapter',
        },
        stored: await storeContent(deps, content),
        beforeCommit: (tx, { jobId, uploadId }) => record(tx, { jobId, uploadId }),
      });
    },
  };
}

/** The fields of a report that comes without a form. Somebody puts a file into a folder; an adapter fetches it. */
export function fieldsOf(
  { platform, workspaceId }: ReportTarget,
  source: UploadSource = 'api',
): IntakeFields {
  return readIntakeFields({ workspace_id: workspaceId, platform, source });
}
