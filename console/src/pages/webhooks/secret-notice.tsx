import { Alert } from '@mantine/core';
import { Command } from '../../parts/command.tsx';

export interface Secret {
  url: string;
  secret: string;
}

export function SecretNotice({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  return (
    <Alert
      color="teal"
      title={`The secret of ${secret.url} is shown only once`}
      withCloseButton
      closeButtonLabel="I have copied it"
      onClose={onClose}
      className="notice"
    >
      <div className="stack">
        <Command line={secret.secret} />
        <span className="small">
          Verify each message with it before you trust it, with any library for Standard Webhooks:
        </span>
        <Command line="new Webhook(secret).verify(rawBody, headers)" />
      </div>
    </Alert>
  );
}
