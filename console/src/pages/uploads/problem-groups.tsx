import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, urlOf } from '../../api/client.ts';
import type { Upload, UploadProblem } from '../../api/types.ts';
import { Icon } from '../../parts/icons.tsx';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { rejectedRows } from './rejected-rows.ts';
import { fieldTitle } from './report-fields.ts';

interface ProblemGroupsProps {
  upload: Upload;
  /** Offered where another column may be the remedy. */
  onColumns?: () => void;
}

/** Why rows are rejected, by reason: title, fix, and examples from the file. */
export function ProblemGroups({ upload, onColumns }: ProblemGroupsProps) {
  const rejected = rejectedRows(upload);
  const query = useQuery({
    queryKey: ['uploads', 'problems', upload.upload_id, upload.updated_at],
    queryFn: ({ signal }) =>
      api.get('/api/uploads/{upload_id}/problems', { path: { upload_id: upload.upload_id }, signal }),
    enabled: rejected > 0,
  });
  if (rejected === 0) return null;
  const groups = query.data?.data ?? [];
  const several = groups.reduce((sum, group) => sum + group.count, 0) > (query.data?.refused_rows ?? 0);
  return (
    <Panel
      title={`${plural(rejected, 'row')} rejected`}
      aside={query.data?.refused_rows ? <RejectedDownload upload={upload} /> : undefined}
    >
      <div className="stack">
        {query.error === null ? null : <Problem error={query.error} retry={() => void query.refetch()} />}
        {query.data?.refused_rows === 0 ? (
          <p className="dim">
            The rejected rows have been deleted after their retention. Upload the file again.
          </p>
        ) : null}
        <ul className="problem-groups">
          {groups.map((group) => (
            <ProblemGroup
              key={`${group.code} ${group.field}`}
              group={group}
              headers={upload.layout?.headers ?? []}
              onColumns={onColumns}
            />
          ))}
        </ul>
        {several ? (
          <p className="dim small">Some rows have several problems and count in each of them.</p>
        ) : null}
        {query.data?.has_more ? (
          <p className="dim small">There are more reasons; the downloaded file has all of them.</p>
        ) : null}
      </div>
    </Panel>
  );
}

function RejectedDownload({ upload }: { upload: Upload }) {
  return (
    <Button
      component="a"
      variant="default"
      href={urlOf('/api/uploads/{upload_id}/rejected.csv', { path: { upload_id: upload.upload_id } })}
      download={`rejected-${upload.upload_id}.csv`}
      leftSection={<Icon name="download" size={14} />}
    >
      rejected.csv
    </Button>
  );
}

interface GroupProps {
  group: UploadProblem;
  headers: readonly string[];
  onColumns: (() => void) | undefined;
}

function ProblemGroup({ group, headers, onColumns }: GroupProps) {
  const [isOpen, setIsOpen] = useState(false);
  const [example] = group.example_rows;
  return (
    <li>
      <div className="problem-group-head">
        <b className="num toned" data-tone="failed">
          {count(group.count)}
        </b>
        <div>
          <p>
            <b>{group.title}</b>
            {group.field === 'row' ? null : <span className="dim"> · {fieldTitle(group.field)}</span>}{' '}
            <code className="dim">{group.code}</code>
          </p>
          <p>{group.fix}</p>
          {example === undefined ? null : <ExampleWords group={group} />}
          <div className="row">
            <Button
              variant="subtle"
              size="compact-xs"
              aria-expanded={isOpen}
              onClick={() => setIsOpen(!isOpen)}
            >
              {isOpen ? 'Hide the rows' : `Show ${plural(group.example_rows.length, 'example row')}`}
            </Button>
            {onColumns !== undefined && group.field !== 'row' ? (
              <Button variant="subtle" size="compact-xs" onClick={onColumns}>
                Read another column as {fieldTitle(group.field)}
              </Button>
            ) : null}
          </div>
        </div>
      </div>
      {isOpen ? <ExampleRows group={group} headers={headers} /> : null}
    </li>
  );
}

/** Rows are counted as in the file without its header, from 1. */
function ExampleWords({ group }: { group: UploadProblem }) {
  const [example] = group.example_rows;
  if (example === undefined) return null;
  return (
    <p className="small dim">
      For example row {count(example.row_index + 1)}
      {example.value === null ? '' : ': '}
      {example.value === null ? null : <code className="example-value">{example.value}</code>}
    </p>
  );
}

function ExampleRows({ group, headers }: { group: UploadProblem; headers: readonly string[] }) {
  const seen = new Set(group.example_rows.flatMap(({ cells }) => Object.keys(cells)));
  const inFile = headers.filter((header, at) => seen.has(header) && headers.indexOf(header) === at);
  const shown = [...inFile, ...[...seen].filter((name) => !inFile.includes(name))];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <div className="scroll-x" tabIndex={0}>
      <table className="example-rows" aria-label={`Example rows: ${group.title}`}>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {shown.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {group.example_rows.map(({ row_index: at, cells, value }) => (
            <tr key={at}>
              <th scope="row" className="num">
                {count(at + 1)}
              </th>
              {shown.map((name) => (
                <td key={name} data-bad={(value !== null && cells[name]?.trim() === value) || undefined}>
                  {cells[name] ?? ''}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
