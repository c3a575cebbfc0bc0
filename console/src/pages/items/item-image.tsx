import { useState } from 'react';
import { urlOf } from '../../api/client.ts';
import { Icon } from '../../parts/icons.tsx';
import { memberOf } from './exact-json.ts';
import type { ItemJob } from './item-job.ts';
import type { GridRow, WholeRow } from './rows-api.ts';

/** Only rows that the processor `image` finished have a thumbnail; its place is always reserved. */
export function GridThumbnail({ row, jobId }: { row: GridRow; jobId: string }) {
  // By row: the same line of the grid shows another one after scrolling.
  const [brokenId, setBroken] = useState<string | null>(null);
  if (row.status !== 'DONE' || brokenId === row.id) {
    return <NoImage isFailed={row.status === 'ERROR' || brokenId === row.id} />;
  }
  return (
    <img
      key={row.id}
      className="grid-thumbnail"
      src={imageUrl(jobId, row.id, 'thumbnail')}
      alt={`Thumbnail of ${nameOf(row) || `row ${row.rowNo}`}`}
      loading="lazy"
      decoding="async"
      width={44}
      height={28}
      onError={() => setBroken(row.id)}
    />
  );
}

function NoImage({ isFailed }: { isFailed: boolean }) {
  return (
    <span className="grid-thumbnail" title={isFailed ? 'There is no thumbnail' : 'Not processed yet'}>
      {isFailed ? <Icon name="alert" size={14} /> : null}
      <span className="grid-hidden">{isFailed ? 'No thumbnail' : 'Not processed yet'}</span>
    </span>
  );
}

/** Formats that browsers can draw, up to a reasonable size. */
const drawnFormats = ['jpeg', 'png', 'gif', 'webp', 'avif'];
const mostDrawnBytes = 4 * 1024 * 1024;
const mostDrawnPixels = 25_000_000;

/** The image where a browser can draw it, otherwise its thumbnail; always a link to the original. */
export function DrawerImage({ job, row }: { job: ItemJob; row: WholeRow }) {
  const [isBroken, setBroken] = useState(false);
  if (job.jobType !== 'image') return null;
  const isDrawn = job.processor === 'image' && row.status === 'DONE' && !isBroken;
  const name = nameOf(row) || `row ${row.rowNo}`;
  return (
    <figure className="drawer-image">
      {isDrawn ? (
        <img
          src={imageUrl(job.jobId, row.id, isLight(row) ? 'image' : 'thumbnail')}
          alt={name}
          onError={() => setBroken(true)}
        />
      ) : null}
      <figcaption>
        <span className="cut" title={name}>
          {name}
        </span>
        <a href={imageUrl(job.jobId, row.id, 'image')} download>
          Download original
        </a>
      </figcaption>
    </figure>
  );
}

function isLight({ result }: WholeRow): boolean {
  const number = (key: string) => Number(memberOf(result, key));
  return (
    drawnFormats.includes(String(memberOf(result, 'format'))) &&
    number('size') <= mostDrawnBytes &&
    number('width') * number('height') <= mostDrawnPixels
  );
}

function nameOf({ input, result }: Pick<GridRow, 'input' | 'result'>): string {
  return String(memberOf(result, 'name') ?? memberOf(input, 'name') ?? '');
}

function imageUrl(jobId: string, itemId: string, kind: 'thumbnail' | 'image'): string {
  const path = { job_id: jobId, item_id: itemId };
  return kind === 'image'
    ? urlOf('/api/jobs/{job_id}/items/{item_id}/image', { path })
    : urlOf('/api/jobs/{job_id}/items/{item_id}/thumbnail', { path });
}
