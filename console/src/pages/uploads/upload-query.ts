import { queryOptions } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import type { Upload } from '../../api/types.ts';
import { isMoving } from './upload-states.ts';

/** Events tell of every move; this is for the counts in between. */
const askAgainMs = 1_000;

export const uploadQuery = (uploadId: string) =>
  queryOptions({
    queryKey: ['uploads', 'one', uploadId],
    queryFn: ({ signal }) => api.get('/api/uploads/{upload_id}', { path: { upload_id: uploadId }, signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && isMoving(state.data) ? askAgainMs : false),
  });

/** An action returns the record: the page shows it at once and loads nothing that its state does not allow. */
export function keepUpload(upload: Upload): void {
  queryClient.setQueryData(uploadQuery(upload.upload_id).queryKey, upload);
}
