import { Autocomplete } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCan } from '../api/queries.ts';
import { secretsQuery, usableFor } from './secrets.ts';

interface SecretFieldProps {
  label: string;
  description: string;
  /** What wants the secret, such as `processor:http`. */
  use: string;
  value: string;
  required?: boolean;
  error: string | undefined;
  onChange: (name: string) => void;
}

/** The name of a stored secret: only those are listed that this person and this form may use. */
export function SecretField({ use, ...field }: SecretFieldProps) {
  const canUse = useCan('secret.use');
  const { data } = useQuery({ ...secretsQuery, enabled: canUse });
  return <Autocomplete {...field} data={usableFor(data?.data ?? [], use)} />;
}
