import { camelCase } from '../snake-case.ts';

/** A statement with its parameters, as `pg` takes it. */
export interface Sql {
  readonly text: string;
  readonly values: unknown[];
}

class Fragment implements Sql {
  readonly text: string;
  readonly values: unknown[];
  constructor(text: string, values: unknown[]) {
    this.text = text;
    this.values = values;
  }
}

/**
 * `sql\`select … where id = ${id}\`` makes a parameterised statement. A fragment made by `sql` may be embedded in
 * another (a shared column list, say); everything else becomes a parameter, so no value can turn into SQL.
 */
export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  let text = strings[0] ?? '';
  const values: unknown[] = [];
  parts.forEach((part, index) => {
    if (part instanceof Fragment) {
      text += part.text.replace(/\$(\d+)/g, (_, n: string) => `$${Number(n) + values.length}`);
      values.push(...part.values);
    } else {
      values.push(part);
      text += `$${values.length}`;
    }
    text += strings[index + 1] ?? '';
  });
  return new Fragment(text, values);
}

/** Text of our own as a fragment (a generated column list); never pass anything that came from outside. */
export function trustedSql(text: string): Sql {
  return new Fragment(text, []);
}

/** Columns under the names of the program: `run_at` is read as `"runAt"`. Only for names of our own. */
export function columnList(names: string, prefix = ''): Sql {
  const columns = names.trim().split(/\s+/);
  return trustedSql(columns.map((name) => `${prefix}${name} as "${camelCase(name)}"`).join(', '));
}

/** An identifier as SQL text, quoted: for the few statements (roles, databases) that cannot take it as parameter. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A string as SQL literal, safe with either setting of standard_conforming_strings. */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
  return text.includes('\\') ? ` E${quoted}` : quoted;
}
