import { NumberInput, Select, Switch, Textarea, TextInput } from '@mantine/core';
import { messageAt } from '../../parts/form-dialog.tsx';
import { SecretField } from '../../parts/secret-field.tsx';
import type { AdapterDraft, FieldsProps } from './adapter-draft.ts';

type TextName = {
  [Name in keyof AdapterDraft]: AdapterDraft[Name] extends string ? Name : never;
}[keyof AdapterDraft];

/** Where the files are. */
export function PlaceFields(props: FieldsProps) {
  const { draft, change } = props;
  return (
    <>
      <Select
        label="Where the files are"
        data={[
          { value: 'folder', label: 'In a folder of the server' },
          { value: 's3', label: 'In an S3 bucket' },
          { value: 'ftp', label: 'On an FTP server' },
        ]}
        value={draft.kind}
        allowDeselect={false}
        onChange={(kind) => change({ kind: (kind ?? 'folder') as AdapterDraft['kind'] })}
      />
      {draft.kind === 'folder' ? <FolderFields {...props} /> : null}
      {draft.kind === 's3' ? <S3Fields {...props} /> : null}
      {draft.kind === 'ftp' ? <FtpFields {...props} /> : null}
    </>
  );
}

function Text(
  props: FieldsProps & {
    name: TextName;
    /** As the API calls it. */
    field: string;
    label: string;
    description?: string;
    placeholder?: string;
    required?: boolean;
  },
) {
  const { draft, change, error, name, field, ...looks } = props;
  return (
    <TextInput
      {...looks}
      value={draft[name]}
      error={messageAt(error, field)}
      onChange={(event) => change({ [name]: event.currentTarget.value })}
    />
  );
}

function FolderFields(props: FieldsProps) {
  return (
    <Text
      {...props}
      name="path"
      field="path"
      label="Folder"
      description="Below the tenant’s folder in ADAPTER_FOLDER, which the operator sets; empty: that folder itself."
      placeholder="inbox"
    />
  );
}

function S3Fields(props: FieldsProps) {
  const { draft, change } = props;
  return (
    <>
      <Text
        {...props}
        name="endpoint"
        field="endpoint"
        label="Endpoint"
        description="Empty: Amazon’s endpoint of the region."
        placeholder="https://minio.example.com:9000"
      />
      <Text {...props} name="region" field="region" label="Region" />
      <Text {...props} name="bucket" field="bucket" label="Bucket" required />
      <Text {...props} name="prefix" field="prefix" label="Prefix" placeholder="in/" />
      <Switch
        label="The bucket is in the path, not in the host name (MinIO and others)"
        checked={draft.pathStyle}
        onChange={(event) => change({ pathStyle: event.currentTarget.checked })}
      />
      <Secret
        {...props}
        name="accessKeyIdSecret"
        field="access_key_id_secret"
        label="Secret with the access key id"
      />
      <Secret
        {...props}
        name="secretAccessKeySecret"
        field="secret_access_key_secret"
        label="Secret with the secret access key"
      />
    </>
  );
}

function FtpFields(props: FieldsProps) {
  const { draft, change, error } = props;
  return (
    <>
      <Text {...props} name="host" field="host" label="Host" placeholder="ftp.example.com" required />
      <NumberInput
        label="Port"
        min={1}
        max={65_535}
        value={draft.port}
        error={messageAt(error, 'port')}
        onChange={(value) => change({ port: typeof value === 'number' ? value : 21 })}
      />
      <Text {...props} name="path" field="path" label="Directory" placeholder="/outgoing" />
      <Text {...props} name="user" field="user" label="User" placeholder="anonymous" />
      <Secret {...props} name="passwordSecret" field="password_secret" label="Secret with the password" />
      <Switch
        label="Encrypted (explicit FTPS)"
        description={draft.tls ? '' : 'The password and the files are sent unencrypted.'}
        checked={draft.tls}
        onChange={(event) => change({ tls: event.currentTarget.checked })}
      />
      {draft.tls ? (
        <Textarea
          label="CA certificate"
          description="PEM; only for a certificate that no public authority has signed."
          autosize
          minRows={1}
          maxRows={6}
          value={draft.caCertificate}
          error={messageAt(error, 'ca_certificate')}
          onChange={(event) => change({ caCertificate: event.currentTarget.value })}
        />
      ) : null}
    </>
  );
}

function Secret(props: FieldsProps & { name: TextName; field: string; label: string }) {
  const { draft, change, error, name, field, label } = props;
  return (
    <SecretField
      label={label}
      description="The name of a secret; secrets are stored under Settings."
      use={`adapter:${draft.kind}`}
      required
      value={draft[name]}
      error={messageAt(error, field)}
      onChange={(value) => change({ [name]: value })}
    />
  );
}
