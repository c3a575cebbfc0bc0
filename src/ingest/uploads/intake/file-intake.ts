import type { FileDoor, ReportTarget } from '../../../kernel/house/doors.ts';
import { readIntakeFields } from './fields.ts';
import { assertWorkspace, type IntakeDeps, storeContent, takeIn } from './intake.ts';

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
        ...{ tenantId, userId, createdBy: userId, filename: fileName, fields: fieldsOf(target) },
        stored: await storeContent(deps, content),
        beforeCommit: (tx, { jobId, uploadId }) => record(tx, { jobId, uploadId }),
      });
    },
  };
}

function fieldsOf({ platform, workspaceId }: ReportTarget) {
  return readIntakeFields({ workspace_id: workspaceId, platform, source: 'manual' });
}
