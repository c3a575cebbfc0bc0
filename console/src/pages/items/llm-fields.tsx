import { Textarea, TextInput } from '@mantine/core';
import { SecretField } from '../../parts/secret-field.tsx';
import { problemAt } from './field-problem.ts';
import type { LlmDraft } from './step-options.ts';

interface LlmFieldsProps {
  draft: LlmDraft;
  columns: readonly string[];
  error: unknown;
  /** A step of a chain has none: the chain has it. */
  hasBudget?: boolean;
  onChange: (draft: LlmDraft) => void;
}

/** A question about each row to an OpenAI-compatible endpoint. */
export function LlmFields({ draft, columns, error, hasBudget = true, onChange }: LlmFieldsProps) {
  const change = (changes: Partial<LlmDraft>) => onChange({ ...draft, ...changes });
  const example = columns[0] ?? 'title';
  return (
    <div className="stack">
      <div className="columns">
        <TextInput
          label="Endpoint"
          required
          placeholder="https://api.example.com/v1"
          description="OpenAI-compatible; /chat/completions is added"
          value={draft.url}
          error={problemAt(error, '/options/url')}
          onChange={(event) => change({ url: event.currentTarget.value })}
        />
        <TextInput
          label="Model"
          required
          description="As the endpoint names it"
          value={draft.model}
          error={problemAt(error, '/options/model')}
          onChange={(event) => change({ model: event.currentTarget.value })}
        />
        <SecretField
          label="Secret for the bearer token"
          description="The name of a stored secret; empty: none"
          use="processor:llm"
          value={draft.secret}
          error={problemAt(error, '/options/secret')}
          onChange={(secret) => change({ secret })}
        />
      </div>
      <Textarea
        label="Question"
        required
        autosize
        minRows={2}
        placeholder={`Which colour has this product? {{${example}}}`}
        description={`{{${example}}} becomes the row's value`}
        value={draft.prompt}
        error={problemAt(error, '/options/prompt')}
        onChange={(event) => change({ prompt: event.currentTarget.value })}
      />
      <Textarea
        label="JSON schema of the answer"
        description="Its properties become columns; empty: the answer is text"
        autosize
        minRows={2}
        placeholder='{ "type": "object", "properties": { "colour": { "type": "string" } }, "required": ["colour"] }'
        value={draft.schema}
        error={problemAt(error, '/options/schema')}
        onChange={(event) => change({ schema: event.currentTarget.value })}
      />
      <PriceFields {...{ draft, error, hasBudget, change }} />
    </div>
  );
}

interface PriceFieldsProps extends Pick<LlmFieldsProps, 'draft' | 'error' | 'hasBudget'> {
  change: (changes: Partial<LlmDraft>) => void;
}

function PriceFields({ draft, error, hasBudget, change }: PriceFieldsProps) {
  return (
    <div className="columns">
      <TextInput
        label="Price of a million input tokens"
        description="In any currency; empty: not known"
        inputMode="decimal"
        value={draft.inputPrice}
        error={problemAt(error, '/options/price/input')}
        onChange={(event) => change({ inputPrice: event.currentTarget.value })}
      />
      <TextInput
        label="Price of a million output tokens"
        description="In the same currency"
        inputMode="decimal"
        value={draft.outputPrice}
        error={problemAt(error, '/options/price/output')}
        onChange={(event) => change({ outputPrice: event.currentTarget.value })}
      />
      {hasBudget ? (
        <TextInput
          label="Budget of the job"
          description="It pauses when this is spent; empty: none"
          inputMode="decimal"
          value={draft.budget}
          error={problemAt(error, '/options/budget') ?? problemAt(error, '/options/price')}
          onChange={(event) => change({ budget: event.currentTarget.value })}
        />
      ) : null}
    </div>
  );
}
