import type { TestClaims } from '../support/servers/server.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import type { Place, Turn } from './each-string.ts';

interface Means {
  made(claims: TestClaims, path: string, body: unknown): Promise<Record<string, unknown>>;
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
  newWorkspace(claims: TestClaims & { tenantId: string }): Promise<string>;
}

/** Where corrected cells of uploads can be found again. */
export function correctionPlaces({ made, firstRow, newWorkspace }: Means): Record<string, Place> {
  /** A held upload with one refused row. */
  const refused = async ({ claims }: Turn) => {
    const fields = { workspace_id: await newWorkspace(claims), review: 'true' };
    const form = uploadForm('Campaign ID,Day,Clicks,A column\n1,someday,7,2\n', fields);
    const { upload_id: uploadId } = await made(claims, '/api/uploads', form);
    const { job_id: jobId } = await firstRow(
      'select job_id from data_uploads where upload_id = $1',
      uploadId,
    );
    await made(claims, `/api/jobs/${jobId}/kickoff?durationMs=60000`, undefined);
    return { upload_id: String(uploadId) };
  };
  const base = { rows: [{ row_index: 0, cells: {} }] };
  const place = 'POST /api/uploads/:upload_id/corrections /rows/0/cells';
  return {
    [`${place}/*`]: { back: null, why: 'names a column of the file', params: refused, base, isAlike: true },
    [`${place}/*=`]: {
      back: async ({ params }) =>
        (
          await firstRow(
            'select new_value as value from upload_corrections where upload_id = $1',
            params.upload_id,
          )
        ).value,
      params: refused,
      base,
      isAlike: true,
    },
  };
}
