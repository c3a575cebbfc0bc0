import { Skeleton } from '@mantine/core';
import type { UploadPreview } from '../../api/types.ts';
import { count } from '../../parts/number.ts';

export const entityTitles = {
  campaigns: 'Campaigns',
  ad_sets: 'Ad sets',
  ads: 'Ads',
  daily_metrics: 'Daily figures',
  period_metrics: 'Figures of longer ranges',
} as const;
export type Entity = keyof typeof entityTitles;
export const entities = Object.keys(entityTitles) as Entity[];

/** Create, update and leave, per entity; the last column is their sum. */
export function PreviewTable(props: { preview: UploadPreview | undefined; isLoading: boolean }) {
  const { preview, isLoading } = props;
  if (preview === undefined && !isLoading) return null;
  return (
    <div className="scroll-x">
      <table className="figures" aria-label="What promotion would do, by entity" aria-busy={isLoading}>
        <thead>
          <tr>
            <th scope="col">In the file</th>
            <th scope="col">Created</th>
            <th scope="col">Updated</th>
            <th scope="col">Unchanged</th>
            <th scope="col">Together</th>
          </tr>
        </thead>
        <tbody>
          {entities.map((entity) => (
            <PreviewLine key={entity} title={entityTitles[entity]} counts={preview?.[entity]} />
          ))}
        </tbody>
      </table>
      {preview !== undefined && figuresOf(preview) < preview.threshold.valid_rows ? <SameKeyNote /> : null}
    </div>
  );
}

/** Where there are more rows than figures. */
export function SameKeyNote() {
  return (
    <p className="dim small">
      Several rows of the file are about the same day of the same ad (or ad set, or campaign). They are added
      up, and each is kept as a breakdown.
    </p>
  );
}

function figuresOf({ daily_metrics: days, period_metrics: ranges }: UploadPreview): number {
  return [days, ranges].reduce(
    (sum, { created, updated, unchanged }) => sum + created + updated + unchanged,
    0,
  );
}

type Counts = UploadPreview[Entity];

function PreviewLine({ title, counts }: { title: string; counts: Counts | undefined }) {
  return (
    <tr>
      <th scope="row">{title}</th>
      <Figure value={counts?.created} tone="done" />
      <Figure value={counts?.updated} tone="retry" />
      <Figure value={counts?.unchanged} />
      <Figure value={counts === undefined ? undefined : counts.created + counts.updated + counts.unchanged} />
    </tr>
  );
}

function Figure({ value, tone }: { value: number | undefined; tone?: string }) {
  if (value === undefined) {
    return (
      <td>
        <Skeleton height={12} width={32} ml="auto" />
      </td>
    );
  }
  return (
    <td className={value === 0 ? 'dim' : 'toned'} data-tone={value === 0 ? undefined : tone}>
      {count(value)}
    </td>
  );
}
