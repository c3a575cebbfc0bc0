import { Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Paths, UploadPlatform } from '../../api/types.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';

const example = {
  title: 'Shop radio',
  aliases: {
    metric_date: ['Aired on'],
    campaign_name: ['Spot'],
    impressions: ['Listeners'],
    spend: ['Paid'],
  },
  dimensions: ['Station'],
};

type NewProfile = Paths['/api/uploads/platforms/{name}']['put']['body'];

interface PlatformDialogProps {
  /** Null: a new one. */
  platform: UploadPlatform | null;
  onClose: () => void;
  onSaved: (name: string) => void;
}

/** A profile is pasted as JSON: it is long, and people keep it in a file. */
export function PlatformDialog({ platform, onClose, onSaved }: PlatformDialogProps) {
  const [name, setName] = useState(platform?.name ?? '');
  const [text, setText] = useState(() => JSON.stringify(platform?.profile ?? example, null, 2));
  const profile = profileOf(text);
  return (
    <FormDialog
      title={platform === null ? 'Define a platform' : `Change ${platform.name}`}
      isOpen
      onClose={onClose}
      action="Save platform"
      isReady={name.trim() !== '' && profile !== null}
      send={() =>
        api.put('/api/uploads/platforms/{name}', {
          path: { name: name.trim() },
          body: profile as NewProfile,
        })
      }
      done={(saved) => `Saved ${saved.profile.title}, version ${saved.version ?? 1}.`}
      touches={['uploads']}
      afterwards={(saved) => onSaved(saved.name)}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            description="Lower-case letters, digits, - and _; uploads name it as their platform"
            placeholder="radio"
            value={name}
            disabled={platform !== null}
            onChange={(event) => setName(event.currentTarget.value)}
            error={messageAt(error, 'name')}
          />
          <Textarea
            label="Profile"
            description="Field to column names, as JSON"
            autosize
            minRows={12}
            maxRows={24}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            error={profile === null ? 'This is not a JSON object' : undefined}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
        </>
      )}
    </FormDialog>
  );
}

function profileOf(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
