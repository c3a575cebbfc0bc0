import type { Principal } from '../../../kernel/tenancy/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { itemErrors } from '../errors.ts';
import { assertSecrets, type ChoiceDeps, checkChoice } from '../intake/choose-processor.ts';
import type { ItemFields, ItemSource } from '../intake/form.ts';
import { countOtherTemplates, deleteTemplate, findTemplate, listTemplates, saveTemplate } from './store.ts';
import { type ItemTemplate, maxTemplates, type TemplateKey } from './types.ts';

export interface TemplateDeps extends ChoiceDeps {
  db: Database;
}

type Person = Pick<Principal, 'tenantId' | 'role'>;

/** Those that the person may use: a template names secrets, and not everybody may see their names. */
export async function templatesFor(deps: TemplateDeps, person: Person): Promise<ItemTemplate[]> {
  const { tenantId } = person;
  const all = await deps.db.read(tenantId, (tx) => listTemplates(tx, { tenantId, limit: maxTemplates }));
  const usable: ItemTemplate[] = [];
  for (const template of all) if (await isUsable(deps, person, template)) usable.push(template);
  return usable;
}

async function isUsable(deps: TemplateDeps, person: Person, template: ItemTemplate): Promise<boolean> {
  try {
    const processor = deps.processors.get(template.processor);
    await assertSecrets(deps.secrets, { ...person, processor, options: template.options });
    return true;
  } catch (error) {
    // A secret was deleted or is not for this person, or the processor is no longer installed.
    if (isSluiceError(error) && ['forbidden', 'not_found', 'invalid'].includes(error.kind)) {
      return person.role !== 'member';
    }
    throw error;
  }
}

/** Refuses what a job would be refused for, with the rights of whoever saves it. */
export async function keepTemplate(
  deps: TemplateDeps,
  { role, ...template }: Omit<ItemTemplate, 'updatedAt'> & Pick<Principal, 'role'>,
): Promise<ItemTemplate> {
  const { tenantId, processor, options } = template;
  await checkChoice(deps, { tenantId, role, processor, options });
  const saved = await deps.db.tenant(tenantId, async (tx) => {
    if ((await countOtherTemplates(tx, template)) >= maxTemplates) {
      throw itemErrors.raise.template_limit(`The tenant has ${maxTemplates} templates, the most allowed`);
    }
    return saveTemplate(tx, template);
  });
  if (!saved) throw new Error(`The template ${template.name} was not returned by its own insert`);
  return saved;
}

export async function dropTemplate({ db }: Pick<TemplateDeps, 'db'>, key: TemplateKey): Promise<void> {
  const isDeleted = await db.tenant(key.tenantId, (tx) => deleteTemplate(tx, key));
  if (!isDeleted) throw unknownTemplate(key);
}

/** What a request says, completed by the template that it names. What it says itself comes first. */
export async function withTemplate(
  { db }: Pick<TemplateDeps, 'db'>,
  source: ItemSource,
  { tenantId }: { tenantId: string },
): Promise<ItemSource> {
  const named = () => source.text?.('template');
  const name = named();
  const template =
    name === undefined ? null : await db.read(tenantId, (tx) => findTemplate(tx, { tenantId, name }));
  if (name !== undefined && template === null) throw unknownTemplate({ tenantId, name });
  return {
    ...source,
    fields: () => {
      if (named() !== name) {
        throw itemErrors.raise.form_invalid('The field template comes after the file; send it first', {
          fields: [{ pointer: '/template', message: 'must come before the file' }],
        });
      }
      return completed(source.fields(), template);
    },
  };
}

function completed(fields: ItemFields, template: ItemTemplate | null): ItemFields {
  if (template === null) return fields;
  const processor = fields.processor ?? template.processor;
  // Options belong to their processor: another one, named beside the template, has its own.
  const usual = processor === template.processor ? template.options : undefined;
  const mapping = fields.reading.mapping ?? template.mapping;
  return { ...fields, processor, options: fields.options ?? usual, reading: { ...fields.reading, mapping } };
}

function unknownTemplate({ name }: TemplateKey): Error {
  return itemErrors.raise.template_not_found(`There is no template ${JSON.stringify(name)}`);
}
