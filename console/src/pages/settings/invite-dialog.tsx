import { Alert, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useMe } from '../../api/queries.ts';
import type { Invitation, User } from '../../api/types.ts';
import { Command } from '../../parts/command.tsx';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { Ago } from '../../parts/time.tsx';

type Role = User['role'];

/** The roles that somebody can give: at most their own rights. */
export function useGrantableRoles(): Role[] {
  const isOperator = useMe()?.role === 'operator';
  return isOperator ? ['member', 'admin', 'support', 'service', 'operator'] : ['member', 'admin', 'service'];
}

export function InviteDialog(props: { onClose: () => void; onMade: (made: Invitation) => void }) {
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('member');
  const roles = useGrantableRoles();
  const body = { email: email.trim(), role, ...(name.trim() === '' ? {} : { name: name.trim() }) };
  return (
    <FormDialog
      title="Invite a person"
      isOpen
      onClose={props.onClose}
      action="Create link"
      isReady={email.trim() !== ''}
      send={() => api.post('/api/users/invitations', { body })}
      done={() => 'Made the link. Copy it now.'}
      touches={['settings']}
      afterwards={props.onMade}
    >
      {(error) => (
        <>
          <TextInput
            label="E-mail"
            description="Sluice sends no mail: you give the link to the person yourself."
            required
            value={email}
            error={messageAt(error, 'email')}
            onChange={(event) => setEmail(event.currentTarget.value)}
            data-autofocus
          />
          <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
          <Select
            label="Role"
            data={roles}
            value={role}
            allowDeselect={false}
            onChange={(value) => setRole((value ?? 'member') as Role)}
          />
        </>
      )}
    </FormDialog>
  );
}

export function InvitationLink({ made, onClose }: { made: Invitation; onClose: () => void }) {
  return (
    <Alert
      color="teal"
      title={`The link for ${made.user_id} is shown only once`}
      withCloseButton
      closeButtonLabel="I have copied it"
      onClose={onClose}
    >
      <Command line={made.url} />
      <p className="small">
        It logs its holder in as {made.role}, once; it ends <Ago at={made.expires_at} />.
      </p>
    </Alert>
  );
}
