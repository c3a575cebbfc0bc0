import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import { pipelineName } from './types.ts';
import { advanceUpload, cancelUpload, cleanUpCanceled, type UploadWorkerDeps } from './worker.ts';

/** Uploads as a pipeline: one job per upload, parsed and promoted in slices. */
export function uploadsPipeline(deps: UploadWorkerDeps): Pipeline {
  return {
    name: pipelineName,
    maxRetries: 5,
    advance: (slice) => advanceUpload(deps, slice),
    cleanUp: (slice) => cleanUpCanceled(deps, slice),
    onCancel: (tx, job) => cancelUpload(deps, tx, job),
    onError: unexpectedOutcome,
    requeueRefusal: 'An upload cannot be requeued. Correct the file and upload it again.',
    remaining: () => null,
  };
}
