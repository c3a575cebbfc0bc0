import { Button, SegmentedControl, Select, TextInput } from '@mantine/core';
import { Icon } from '../../parts/icons.tsx';
import { CatalogFields } from './catalog-fields.tsx';
import { problemAt, problemsOfStep } from './field-problem.ts';
import { LlmFields } from './llm-fields.tsx';
import { HttpFields, RuleFields } from './processor-fields.tsx';
import { type ChainDraft, newStep, type StepDraft, stepProcessors } from './step-options.ts';

interface ChainFieldsProps {
  draft: ChainDraft;
  columns: readonly string[];
  error: unknown;
  onChange: (draft: ChainDraft) => void;
}

const maxSteps = 10;
const words = {
  waterfall:
    'The next step is asked only where the one before found nothing. The first answer is the result.',
  sequence:
    'Every step runs. A later step can use what the earlier ones found, as {{column}} or {{step.column}}.',
};

/** Steps of other processors; each has its own fields. */
export function ChainFields({ draft, columns, error, onChange }: ChainFieldsProps) {
  const { steps } = draft;
  const change = (key: number, changes: Partial<StepDraft>) =>
    onChange({ ...draft, steps: steps.map((step) => (step.key === key ? { ...step, ...changes } : step)) });
  const nextKey = Math.max(0, ...steps.map(({ key }) => key)) + 1;
  const hasModel = steps.some(({ processor }) => processor === 'llm');
  return (
    <div className="stack">
      <div className="row">
        <SegmentedControl
          aria-label="How the steps follow each other"
          data={[
            { value: 'waterfall', label: 'Until one finds it' },
            { value: 'sequence', label: 'One after another' },
          ]}
          value={draft.mode}
          onChange={(mode) => onChange({ ...draft, mode: mode === 'sequence' ? 'sequence' : 'waterfall' })}
        />
        <span className="dim small">{words[draft.mode]}</span>
      </div>
      {steps.map((step, index) => (
        <StepFields
          key={step.key}
          {...{ step, index, columns, error }}
          onChange={(changes) => change(step.key, changes)}
          onRemove={
            steps.length === 1
              ? undefined
              : () => onChange({ ...draft, steps: steps.filter(({ key }) => key !== step.key) })
          }
        />
      ))}
      <div className="row">
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={13} />}
          disabled={steps.length >= maxSteps}
          onClick={() => onChange({ ...draft, steps: [...steps, newStep(nextKey)] })}
        >
          Add step
        </Button>
        <span className="dim small">
          An answer is stored before the next step begins: a retry repeats no step that answered.
        </span>
      </div>
      {hasModel ? (
        <TextInput
          label="Budget of the job"
          description="It pauses when its steps have cost this; empty: none"
          inputMode="decimal"
          value={draft.budget}
          error={problemAt(error, '/options/budget')}
          onChange={(event) => onChange({ ...draft, budget: event.currentTarget.value })}
        />
      ) : null}
    </div>
  );
}

interface StepFieldsProps {
  step: StepDraft;
  index: number;
  columns: readonly string[];
  error: unknown;
  onChange: (changes: Partial<StepDraft>) => void;
  onRemove: (() => void) | undefined;
}

function StepFields({ step, index, columns, error, onChange, onRemove }: StepFieldsProps) {
  return (
    <fieldset className="chain-step">
      <legend>Step {index + 1}</legend>
      <div className="stack">
        <div className="columns">
          <Select
            label="What it does"
            data={[...stepProcessors]}
            value={step.processor}
            error={problemAt(error, `/options/steps/${index}/processor`)}
            onChange={(value) =>
              onChange({ processor: stepProcessors.find((one) => one.value === value)?.value ?? 'http' })
            }
          />
          <TextInput
            label="Name of the step"
            description="Shown in answered_by; empty: that of its processor"
            value={step.name}
            error={problemAt(error, `/options/steps/${index}/name`)}
            onChange={(event) => onChange({ name: event.currentTarget.value })}
          />
        </div>
        <OwnFields step={step} columns={columns} error={problemsOfStep(error, index)} onChange={onChange} />
        {onRemove === undefined ? null : (
          <div className="row">
            <Button
              variant="subtle"
              color="gray"
              leftSection={<Icon name="trash" size={14} />}
              onClick={onRemove}
            >
              Remove step {index + 1}
            </Button>
          </div>
        )}
      </div>
    </fieldset>
  );
}

function OwnFields({
  step,
  columns,
  error,
  onChange,
}: Pick<StepFieldsProps, 'step' | 'columns' | 'error' | 'onChange'>) {
  const shared = { columns, error };
  switch (step.processor) {
    case 'http':
      return <HttpFields draft={step.http} {...shared} onChange={(http) => onChange({ http })} />;
    case 'llm':
      return (
        <LlmFields draft={step.llm} {...shared} hasBudget={false} onChange={(llm) => onChange({ llm })} />
      );
    case 'validate':
      return <RuleFields rules={step.rules} {...shared} onChange={(rules) => onChange({ rules })} />;
    case 'catalog':
      return <CatalogFields draft={step.catalog} {...shared} onChange={(catalog) => onChange({ catalog })} />;
  }
}
