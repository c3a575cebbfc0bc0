import { TextInput } from '@mantine/core';
import { FilterBar, FilterSelect, FilterText } from '../../parts/filter-bar.tsx';
import { usePlatformChoices } from '../uploads/platforms.ts';
import { figureTitles, groupingsOf, groupingTitles } from './figure-words.ts';
import { type FiguresState, figures, type Grouping, levels } from './search.ts';

interface FiltersProps {
  state: FiguresState;
  change: (changes: FiguresState) => void;
  by: Grouping;
}

const nothing = {
  client: undefined,
  platform: undefined,
  campaign: undefined,
  currency: undefined,
  level: undefined,
  from: undefined,
  to: undefined,
};

export const isFiltered = (state: FiguresState): boolean =>
  (Object.keys(nothing) as (keyof typeof nothing)[]).some((name) => state[name] !== undefined);

/** What is shown, how it is grouped, and which figure counts. */
export function FiguresFilters({ state, change, by }: FiltersProps) {
  const set = (changes: { [Name in keyof FiguresState]?: FiguresState[Name] | undefined }) =>
    change(changes as FiguresState);
  const kind = state.kind ?? 'daily';
  const platformChoices = usePlatformChoices();
  return (
    <FilterBar isFiltered={isFiltered(state)} onReset={() => set(nothing)}>
      <FilterSelect
        label="Kind of figures"
        all="Daily figures"
        value={state.kind === 'period' ? 'period' : undefined}
        options={[{ value: 'period', label: 'Reports without a day' }]}
        onChange={(value) => set({ kind: value, by: undefined })}
      />
      <FilterSelect
        label="Group by"
        all={`By ${kind === 'daily' ? 'day' : 'range'}`}
        value={state.by === undefined ? undefined : by}
        options={groupingsOf(kind)
          .slice(1)
          .map((value) => ({ value, label: `By ${groupingTitles[value].toLowerCase()}` }))}
        onChange={(value) => set({ by: value })}
      />
      <FilterSelect
        label="Figure"
        all="Spend"
        value={state.figure === 'spend' ? undefined : state.figure}
        options={figures.slice(1).map((value) => ({ value, label: figureTitles[value] }))}
        onChange={(value) => set({ figure: value })}
      />
      <FilterSelect
        label="Platform"
        all="All platforms"
        value={platformChoices.find(({ value }) => value === state.platform)?.value}
        options={platformChoices}
        onChange={(value) => set({ platform: value })}
      />
      <FilterText
        label="Campaign name or id"
        value={state.campaign}
        onChange={(value) => set({ campaign: value })}
      />
      <FilterText label="Client id" value={state.client} onChange={(value) => set({ client: value })} />
      <FilterText
        label="Currency"
        width={90}
        value={state.currency}
        onChange={(value) => set({ currency: value?.toUpperCase() })}
      />
      <FilterSelect
        label="Level"
        all="All levels"
        value={state.level}
        options={levels.map((value) => ({
          value,
          label: `Stated per ${groupingTitles[value].toLowerCase()}`,
        }))}
        onChange={(value) => set({ level: value })}
      />
      <Day label="First day" value={state.from} onChange={(from) => set({ from })} />
      <Day label="Last day" value={state.to} onChange={(to) => set({ to })} />
    </FilterBar>
  );
}

function Day(props: {
  label: string;
  value: string | undefined;
  onChange: (day: string | undefined) => void;
}) {
  return (
    <TextInput
      type="date"
      size="xs"
      w={140}
      aria-label={props.label}
      title={props.label}
      value={props.value ?? ''}
      onChange={(event) => props.onChange(event.currentTarget.value || undefined)}
    />
  );
}
