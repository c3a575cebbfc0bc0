import { Button, Select, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';

/** The filters of a list, above it; what they say is in the URL. */
export function FilterBar(props: {
  children: ReactNode;
  isFiltered: boolean;
  onReset: () => void;
  aside?: ReactNode;
}) {
  return (
    <search className="filter-bar" aria-label="Filters">
      {props.children}
      {props.isFiltered ? (
        <Button variant="subtle" color="gray" onClick={props.onReset}>
          Clear filters
        </Button>
      ) : null}
      {props.aside === undefined ? null : <div className="filter-aside">{props.aside}</div>}
    </search>
  );
}

/** The one filter of a list that is short enough to be looked through here; see `hasText`. */
export function TextFilterBar(props: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <FilterBar isFiltered={props.value !== undefined} onReset={() => props.onChange(undefined)}>
      <FilterText {...props} />
    </FilterBar>
  );
}

/** True if one of the texts contains what was typed, or if nothing was. */
export function hasText(texts: readonly string[], typed: string | undefined): boolean {
  return typed === undefined || texts.some((text) => text.toLowerCase().includes(typed.toLowerCase()));
}

interface FilterSelectProps<T extends string> {
  label: string;
  value: T | undefined;
  /** Without a choice: "All pipelines". */
  all: string;
  options: readonly { value: T; label: string }[];
  onChange: (value: T | undefined) => void;
}

export function FilterSelect<T extends string>({
  label,
  value,
  all,
  options,
  onChange,
}: FilterSelectProps<T>) {
  return (
    <Select
      aria-label={label}
      size="xs"
      w={170}
      value={value ?? ''}
      data={[{ value: '', label: all }, ...options]}
      onChange={(chosen) => onChange(options.find((option) => option.value === chosen)?.value)}
    />
  );
}

interface FilterTextProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  width?: number;
}

const pauseMs = 350;

/** Takes effect when the person pauses; Enter is faster. */
export function FilterText({ label, value, onChange, width = 220 }: FilterTextProps) {
  const [draft, setDraft] = useState(value ?? '');
  useEffect(() => setDraft(value ?? ''), [value]);
  useEffect(() => {
    if (draft === (value ?? '')) return;
    const timer = setTimeout(() => onChange(draft.trim() || undefined), pauseMs);
    return () => clearTimeout(timer);
  }, [draft, value, onChange]);
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      size="xs"
      w={width}
      value={draft}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onKeyDown={(event) => (event.key === 'Enter' ? onChange(draft.trim() || undefined) : undefined)}
    />
  );
}
