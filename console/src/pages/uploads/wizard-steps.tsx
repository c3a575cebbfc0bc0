import { Icon } from '../../parts/icons.tsx';
import { type Step, steps } from './upload-states.ts';

interface WizardStepsProps {
  current: Step;
  /** Where one can go from here; all others are only shown. */
  go?: Partial<Record<Step, () => void>>;
  /** The last step reached did not end well. */
  isFailed?: boolean;
}

/** Drop ▸ Columns ▸ Check ▸ Promote ▸ Result. */
export function WizardSteps({ current, go = {}, isFailed = false }: WizardStepsProps) {
  const reached = steps.indexOf(current);
  return (
    <ol className="wizard-steps" aria-label="Steps of an upload">
      {steps.map((step, index) => {
        const state = index < reached ? 'past' : index === reached ? 'now' : 'ahead';
        const act = go[step];
        return (
          <li key={step} data-state={state} aria-current={state === 'now' ? 'step' : undefined}>
            <StepMark state={state} index={index} isFailed={isFailed && state === 'now'} />
            {act === undefined || state === 'now' ? (
              <span>{step}</span>
            ) : (
              <button type="button" onClick={act}>
                {step}
              </button>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function StepMark(props: { state: 'past' | 'now' | 'ahead'; index: number; isFailed: boolean }) {
  const { state, index, isFailed } = props;
  return (
    <span className="step-mark" data-failed={isFailed || undefined} aria-hidden="true">
      {state === 'past' ? (
        <Icon name="check" size={12} />
      ) : isFailed ? (
        <Icon name="x" size={12} />
      ) : (
        index + 1
      )}
    </span>
  );
}
