import { Autocomplete, Button, Checkbox, NumberInput, Select, Textarea, TextInput } from '@mantine/core';
import { Icon } from '../../parts/icons.tsx';
import { SecretField } from '../../parts/secret-field.tsx';
import { problemAt } from './field-problem.ts';
import { type HttpDraft, newRule, type RuleDraft, valueTypes } from './processor-options.ts';

interface RuleFieldsProps {
  rules: readonly RuleDraft[];
  /** Of the file, to choose from. */
  columns: readonly string[];
  error: unknown;
  onChange: (rules: RuleDraft[]) => void;
}

/** One line per rule: a column, what its value has to be, within which bounds. */
export function RuleFields({ rules, columns, error, onChange }: RuleFieldsProps) {
  const change = (key: number, changes: Partial<RuleDraft>) =>
    onChange(rules.map((rule) => (rule.key === key ? { ...rule, ...changes } : rule)));
  const nextKey = Math.max(0, ...rules.map(({ key }) => key)) + 1;
  const unused = columns.filter((name) => rules.every(({ column }) => column !== name));
  return (
    <div className="stack">
      {rules.map((rule, index) => (
        <RuleLine
          key={rule.key}
          rule={rule}
          columns={columns}
          problem={(field) => problemAt(error, `/options/rules/${index}/${field}`)}
          onChange={(changes) => change(rule.key, changes)}
          onRemove={
            rules.length === 1 ? undefined : () => onChange(rules.filter(({ key }) => key !== rule.key))
          }
        />
      ))}
      <div className="row">
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={13} />}
          onClick={() => onChange([...rules, newRule(nextKey, unused[0])])}
        >
          Add rule
        </Button>
        <span className="dim small">
          A row that breaks a rule ends as an error with all its reasons. Valid rows get their values
          converted to the type.
        </span>
      </div>
    </div>
  );
}

interface RuleLineProps {
  rule: RuleDraft;
  columns: readonly string[];
  problem: (field: string) => string | undefined;
  onChange: (changes: Partial<RuleDraft>) => void;
  onRemove: (() => void) | undefined;
}

function RuleLine({ rule, columns, problem, onChange, onRemove }: RuleLineProps) {
  const isText = !['integer', 'number', 'date'].includes(rule.type);
  const bounds = isText ? ['Shortest', 'Longest'] : ['At least', 'At most'];
  return (
    <fieldset className="rule-line">
      <legend className="grid-hidden">Rule for {rule.column || 'a column'}</legend>
      <Autocomplete
        label="Column"
        size="xs"
        data={[...new Set(columns)]}
        value={rule.column}
        error={problem('column')}
        onChange={(column) => onChange({ column })}
      />
      <Select
        label="Is a"
        size="xs"
        data={valueTypes}
        value={rule.type}
        error={problem('type')}
        onChange={(type) => onChange({ type: valueTypes.find((one) => one === type) ?? 'string' })}
      />
      <TextInput
        label="Matches"
        size="xs"
        placeholder="^[A-Z]{2}-\d+$"
        value={rule.pattern}
        error={problem('pattern')}
        onChange={(event) => onChange({ pattern: event.currentTarget.value })}
      />
      <TextInput
        label={bounds[0]}
        size="xs"
        value={rule.min}
        error={problem('min') ?? problem('minLength')}
        onChange={(event) => onChange({ min: event.currentTarget.value })}
      />
      <TextInput
        label={bounds[1]}
        size="xs"
        value={rule.max}
        error={problem('max') ?? problem('maxLength')}
        onChange={(event) => onChange({ max: event.currentTarget.value })}
      />
      <Checkbox
        label="Required"
        size="xs"
        pb={6}
        checked={rule.isRequired}
        onChange={(event) => onChange({ isRequired: event.currentTarget.checked })}
      />
      {onRemove === undefined ? (
        <span />
      ) : (
        <Button
          variant="subtle"
          color="gray"
          onClick={onRemove}
          aria-label={`Remove the rule for ${rule.column}`}
        >
          <Icon name="trash" size={14} />
        </Button>
      )}
    </fieldset>
  );
}

interface HttpFieldsProps {
  draft: HttpDraft;
  columns: readonly string[];
  error: unknown;
  onChange: (draft: HttpDraft) => void;
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A call for each row; its columns go where their names stand in double braces. */
export function HttpFields({ draft, columns, error, onChange }: HttpFieldsProps) {
  const change = (changes: Partial<HttpDraft>) => onChange({ ...draft, ...changes });
  const example = columns[0] ?? 'sku';
  return (
    <div className="stack">
      <div className="columns">
        <Select
          label="Method"
          description="The HTTP method that the provider expects"
          data={methods}
          value={draft.method}
          onChange={(value) => change({ method: methods.find((one) => one === value) ?? 'GET' })}
        />
        <TextInput
          label="Address"
          required
          placeholder={`https://shop.example.com/articles/{{${example}}}`}
          description={`{{${example}}} becomes the row's value; the host itself must be fixed`}
          value={draft.url}
          error={problemAt(error, '/options/request/url')}
          onChange={(event) => change({ url: event.currentTarget.value })}
        />
      </div>
      {draft.method === 'GET' ? null : (
        <Textarea
          label="Body, as JSON"
          autosize
          minRows={2}
          placeholder={`{ "query": "{{${example}}}" }`}
          value={draft.body}
          error={problemAt(error, '/options/request/body')}
          onChange={(event) => change({ body: event.currentTarget.value })}
        />
      )}
      <div className="columns">
        <TextInput
          label="Where the result is"
          description="A path such as data.0.price; empty: the whole response"
          value={draft.result}
          error={problemAt(error, '/options/response/result')}
          onChange={(event) => change({ result: event.currentTarget.value })}
        />
        <SecretField
          label="Secret for the bearer token"
          description="The name of a stored secret; empty: none"
          use="processor:http"
          value={draft.secret}
          error={problemAt(error, '/options/auth')}
          onChange={(secret) => change({ secret })}
        />
        <NumberInput
          label="Time limit of a call (ms)"
          description="100 to 120,000"
          min={100}
          max={120_000}
          value={draft.timeoutMs}
          error={problemAt(error, '/options/timeoutMs')}
          onChange={(value) => change({ timeoutMs: Number(value) })}
        />
      </div>
      <p className="dim small">
        404 means not found; 429 and 5xx are retried more slowly. Batches, several strategies, other
        authentication and conditions on the response are written as JSON.
      </p>
    </div>
  );
}
