import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Upload } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { isWholeRange, noRange, RangeFields } from '../../parts/range-fields.tsx';
import {
  type ColumnChoice,
  columnChoices,
  givenFields,
  isSameMapping,
  type Mapping,
  mappingOf,
} from './column-choices.ts';
import { ColumnTable } from './column-table.tsx';
import { titleOf } from './platforms.ts';
import { missingNeeds } from './report-fields.ts';
import { keepUpload } from './upload-query.ts';

/** Which column of the file is which field; what was chosen is tried without promoting anything. */
export function ColumnsStep({ upload, onCheck }: { upload: Upload; onCheck: () => void }) {
  const canControl = useCan('upload.control');
  const given = useMemo(() => mappingOf(upload.mapping), [upload.mapping]);
  const [draft, setDraft] = useState<Mapping>(given);
  const remembered = useRemembered(upload);
  const choices = columnChoices(upload, { draft, remembered: remembered.mapping });
  const [range, setRange] = useState(noRange);
  const asksForRange = lacksRange(upload, choices);
  const hasRange = asksForRange && isWholeRange(range);
  const isChanged = hasRange || !isSameMapping(draft, given);
  const check = useAction({
    run: () =>
      api.put('/api/uploads/{upload_id}/mapping', {
        path: { upload_id: upload.upload_id },
        body: { mapping: draft, ...(hasRange ? { date_from: range.from, date_to: range.to } : {}) },
      }),
    done: () => null,
    touches: ['uploads'],
    afterwards: (checked) => {
      keepUpload(checked);
      onCheck();
    },
  });
  const choose = (header: string, field: Mapping[string] | undefined) =>
    setDraft(({ [header]: _, ...others }) => (field === undefined ? others : { ...others, [header]: field }));
  return (
    <Panel title="Columns" aside={<FileWords upload={upload} />}>
      <div className="stack">
        <Missing upload={upload} choices={choices} />
        {asksForRange ? (
          <div className="notice" data-tone="you" role="status">
            <p>
              <b>Say which days this report is about.</b> It has no column for the day and names no range.
              Choose its column below, or give the range: the figures are stored for it as a whole.
            </p>
            <RangeFields range={range} onChange={setRange} isDisabled={!canControl} />
          </div>
        ) : null}
        <Suggestions choices={choices} isDisabled={!canControl} accept={choose} />
        <ColumnTable
          choices={choices}
          choose={choose}
          forget={canControl ? remembered.forget : undefined}
          isDisabled={!canControl}
        />
        <Notes upload={upload} />
        <div className="row">
          <CheckButton
            needs={missingNeeds(givenFields(choices))}
            isChanged={isChanged}
            canControl={canControl}
            isRunning={check.isRunning}
            onClick={() => (isChanged ? check.run() : onCheck())}
          />
          {isChanged ? (
            <Button variant="subtle" color="gray" onClick={() => setDraft(given)}>
              Undo my changes
            </Button>
          ) : null}
          <span className="dim small">
            Columns that you choose are remembered for {titleOf(upload.platform)} when this upload completes.
          </span>
        </div>
      </div>
    </Panel>
  );
}

/** The remembered mapping for this platform; forgetting a column affects later uploads only. */
function useRemembered({ platform }: Upload) {
  const known = useQuery({
    queryKey: ['uploads', 'mappings', platform],
    queryFn: ({ signal }) => api.get('/api/uploads/mappings', { query: { platform }, signal }),
  });
  const mapping = known.data?.data[0]?.mapping ?? {};
  const forget = useAction({
    run: (header: string) => {
      const { [header]: _, ...others } = mappingOf(mapping);
      return api.put('/api/uploads/mappings', { body: { platform, mapping: others } });
    },
    done: (_, header) => `“${header}” is no longer remembered. This upload keeps your choice.`,
    touches: ['uploads'],
  });
  return { mapping, forget: forget.run };
}

/** Nobody has said which days the figures are about: no column, no range of the file, none that was given. */
function lacksRange({ layout, warnings }: Upload, choices: readonly ColumnChoice[]): boolean {
  const given = givenFields(choices);
  const hasDays = given.has('metric_date') || (given.has('period_start') && given.has('period_end'));
  const isUnknown = warnings.some(({ code }) => code === 'period_unknown');
  return !hasDays && isUnknown && !layout?.range;
}

function FileWords({ upload: { layout } }: { upload: Upload }) {
  const words = [
    plural(layout?.headers?.length ?? 0, 'column'),
    layout?.format === 'json' ? 'JSON' : layout?.format === 'delimited' ? 'table' : null,
    layout?.encoding ?? null,
    layout?.currency ? `amounts in ${layout.currency}` : null,
  ].filter((word) => word !== null);
  return <span className="dim small">{words.join(' · ')}</span>;
}

function Missing({ upload, choices }: { upload: Upload; choices: readonly ColumnChoice[] }) {
  const needs = missingNeeds(givenFields(choices));
  if (needs.length === 0) return null;
  const said = upload.warnings.find(({ code }) => code === 'required_columns_missing');
  return (
    <div className="notice" data-tone="you" role="status">
      <p>
        <b>Say which column is {listed(needs)}.</b> Without it no row can be read.
      </p>
      {said === undefined ? null : <p className="small">{said.message}</p>}
    </div>
  );
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function Suggestions(props: {
  choices: readonly ColumnChoice[];
  isDisabled: boolean;
  accept: (header: string, field: ColumnChoice['suggestion']) => void;
}) {
  const { choices, isDisabled, accept } = props;
  const open = choices.filter(({ suggestion }) => suggestion !== null);
  if (open.length === 0) return null;
  return (
    <div className="row">
      <span>
        {plural(open.length, 'column')} {open.length === 1 ? 'looks' : 'look'} like something known.
      </span>
      <Button
        variant="default"
        disabled={isDisabled}
        onClick={() => {
          for (const { header, suggestion } of open) accept(header, suggestion);
        }}
      >
        Apply {open.length === 1 ? 'the suggestion' : `${open.length} suggestions`}
      </Button>
    </div>
  );
}

function Notes({ upload: { layout } }: { upload: Upload }) {
  const notes = layout?.notes ?? [];
  if (notes.length === 0) return null;
  return (
    <ul className="notes small dim">
      {notes.slice(0, 20).map(({ code, message }) => (
        <li key={code + message}>{message}</li>
      ))}
    </ul>
  );
}

function CheckButton(props: {
  needs: readonly string[];
  isChanged: boolean;
  canControl: boolean;
  isRunning: boolean;
  onClick: () => void;
}) {
  const { needs, isChanged, canControl, isRunning, onClick } = props;
  const reason =
    needs.length > 0
      ? `Choose a column for ${listed(needs)} first`
      : isChanged && !canControl
        ? 'Your role can read uploads but not change them'
        : undefined;
  return (
    <Button disabled={reason !== undefined} title={reason} loading={isRunning} onClick={onClick}>
      {isChanged ? 'Check with these columns' : 'Continue to the check'}
    </Button>
  );
}
