import { Icon } from './icons.tsx';
import { count } from './number.ts';

/** "12 new": announces rows instead of pushing what is being read. */
export function NewRows({ count: newCount, onShow }: { count: number; onShow: () => void }) {
  return (
    <div className="new-rows" aria-live="polite">
      {newCount === 0 ? null : (
        <button type="button" onClick={onShow}>
          <Icon name="chevronDown" size={13} />
          {count(newCount)} new
        </button>
      )}
    </div>
  );
}
