import { Popover } from '@mantine/core';
import { useState } from 'react';
import { useNeeds } from '../api/needs.ts';
import { Icon } from '../parts/icons.tsx';
import { count, plural } from '../parts/number.ts';
import { To } from '../parts/to.tsx';

/** The bell: what waits for a person, each with its number and its way there. */
export function NeedsYou() {
  const [isOpen, setOpen] = useState(false);
  const { needs, total } = useNeeds();
  const label = total === 0 ? 'Nothing needs you' : `${plural(total, 'thing needs', 'things need')} you`;
  return (
    <Popover opened={isOpen} onChange={setOpen} width={340} position="bottom-end" trapFocus>
      <Popover.Target>
        <button type="button" className="bar-button" aria-label={label} onClick={() => setOpen(!isOpen)}>
          <Icon name="bell" />
          {total === 0 ? null : <span className="bell-count">{total > 99 ? '99+' : count(total)}</span>}
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        <ul className="needs">
          {needs.map(({ sentence, href }) => (
            <li key={sentence}>
              <To href={href} onClick={() => setOpen(false)}>
                {sentence}
                <Icon name="chevronRight" size={13} />
              </To>
            </li>
          ))}
          {needs.length === 0 ? <li className="dim">Nothing needs you.</li> : null}
        </ul>
      </Popover.Dropdown>
    </Popover>
  );
}
