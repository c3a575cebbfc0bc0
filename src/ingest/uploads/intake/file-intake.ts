import type { Readable } from 'node:stream';
import type { BeforeCommit } from '../../../kernel/jobs/service.ts';
import type { Upload } from '../types.ts';
import { readIntakeFields } from './fields.ts';
import { assertWorkspace, type IntakeDeps, storeContent, takeIn } from './intake.ts';

/** Where the reports of a place outside belong. */
export interface UploadTarget {
  platform: string;
  workspaceId: string;
}

export interface FileIntake extends UploadTarget {
  tenantId: string;
  userId: string;
  filename: string;
  content: Readable;
  beforeCommit: BeforeCommit<Upload>;
}

/** The way in for reports that do not come with a request. */
export interface UploadIntake {
  maxBytes: number;
  /** Throws what would be wrong with every file: a platform that is not known, a workspace that is gone. */
  check(tenantId: string, target: UploadTarget): Promise<void>;
  take(file: FileIntake): Promise<Upload>;
}

export function uploadIntake(deps: IntakeDeps): UploadIntake {
  return {
    maxBytes: deps.maxUploadBytes,
    check: async (tenantId, target) => {
      const { workspace_id: workspaceId } = fieldsOf(target);
      await deps.db.tenant(tenantId, (tx) => assertWorkspace(tx, { tenantId, workspaceId }));
    },
    take: async ({ content, userId, ...file }) =>
      takeIn(deps, {
        ...file,
        userId,
        createdBy: userId,
        fields: fieldsOf(file),
        stored: await storeContent(deps, content),
      }),
  };
}

function fieldsOf({ platform, workspaceId }: UploadTarget) {
  return readIntakeFields({ workspace_id: workspaceId, platform, source: 'manual' });
}
