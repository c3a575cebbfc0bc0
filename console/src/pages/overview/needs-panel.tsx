import { Skeleton } from '@mantine/core';
import type { Need } from '../../api/needs.ts';
import { Icon } from '../../parts/icons.tsx';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';

export function NeedsPanel({ needs }: { needs: readonly Need[] | undefined }) {
  return (
    <Panel title="Needs you">
      {needs === undefined ? <Skeleton height={20} width="40%" /> : null}
      {needs?.length === 0 ? (
        <p className="needs-none">
          <span className="toned" data-tone="done">
            <Icon name="checkCircle" />
          </span>{' '}
          Nothing needs you.
        </p>
      ) : null}
      <ul className="needs-list">
        {needs?.map((need) => (
          <li key={need.kind + need.code}>
            <To href={need.href}>
              <span className="toned" data-tone={need.kind === 'uploads_in_review' ? 'you' : 'failed'}>
                <Icon name={need.kind === 'uploads_in_review' ? 'hand' : 'alert'} />
              </span>
              <span className="needs-sentence">{need.sentence}</span>
              <span className="dim small">
                {need.oldestAt === null ? null : (
                  <>
                    since <Ago at={need.oldestAt} />
                  </>
                )}
              </span>
              <Icon name="chevronRight" size={14} />
            </To>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
