import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useCan } from '../../api/queries.ts';
import type { Upload } from '../../api/types.ts';
import { writeSearch } from '../../list-state.ts';

/** Leads to a new upload that goes where this one went. */
export function CorrectedLink({ upload, isMain = false }: { upload: Upload; isMain?: boolean }) {
  const canUpload = useCan('upload.create');
  if (!canUpload) return null;
  const search = writeSearch({
    platform: upload.platform,
    into: upload.workspace_id,
    client: upload.client_id,
  });
  return (
    <Button component={Link} to={`/uploads/new${search}`} variant={isMain ? 'filled' : 'default'}>
      Upload a corrected file
    </Button>
  );
}
