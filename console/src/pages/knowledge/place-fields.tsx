import { Checkbox, TextInput } from '@mantine/core';
import { messageAt } from '../../parts/form-dialog.tsx';
import type { SourceDraft } from './source-fields.tsx';

interface Props {
  draft: SourceDraft;
  change: (draft: SourceDraft) => void;
  error: unknown;
}

interface Line {
  name: keyof SourceDraft;
  /** As the API calls it. */
  field: string;
  label: string;
  description?: string;
  isRequired?: boolean;
}

const gitLines: Line[] = [
  { name: 'url', field: 'url', label: 'Address', description: 'What git clone takes.', isRequired: true },
  { name: 'ref', field: 'ref', label: 'Branch or tag', description: 'Empty: its first branch.' },
  { name: 'path', field: 'path', label: 'Folder in it' },
  {
    name: 'tokenSecret',
    field: 'token_secret',
    label: 'Secret with a token',
    description: 'The name of a stored secret; only for private repositories.',
  },
];

const s3Lines: Line[] = [
  { name: 'endpoint', field: 'endpoint', label: 'Endpoint', description: 'Empty: Amazon’s.' },
  { name: 'bucket', field: 'bucket', label: 'Bucket', isRequired: true },
  { name: 'prefix', field: 'prefix', label: 'Start of the keys', description: 'Such as handbook/' },
  {
    name: 'accessKeyIdSecret',
    field: 'access_key_id_secret',
    label: 'Secret with the access key id',
    isRequired: true,
  },
  {
    name: 'secretAccessKeySecret',
    field: 'secret_access_key_secret',
    label: 'Secret with the secret access key',
    isRequired: true,
  },
];

export function GitFields(props: Props) {
  return <Lines lines={gitLines} {...props} />;
}

export function S3Fields(props: Props) {
  const { draft, change } = props;
  return (
    <>
      <Lines lines={s3Lines} {...props} />
      <Checkbox
        label="The bucket is in the path, as MinIO wants it"
        checked={draft.hasPathStyle}
        onChange={(event) => change({ ...draft, hasPathStyle: event.currentTarget.checked })}
      />
    </>
  );
}

function Lines({ lines, draft, change, error }: Props & { lines: readonly Line[] }) {
  return lines.map(({ name, field, label, description, isRequired }) => (
    <TextInput
      key={name}
      label={label}
      description={description}
      required={isRequired ?? false}
      value={String(draft[name] ?? '')}
      error={messageAt(error, field)}
      onChange={(event) => change({ ...draft, [name]: event.currentTarget.value })}
    />
  ));
}
