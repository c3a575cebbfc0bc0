import type { OpenAPIV3_1 } from 'openapi-types';
import { barOf, escapeHtml } from './doc-frame.ts';

type Operation = OpenAPIV3_1.OperationObject & { method: string; path: string };

/** A plain page from the OpenAPI document: no script, so that the strict content security policy holds. */
export function renderReferencePage(document: OpenAPIV3_1.Document): string {
  const operations = listOperations(document);
  const tags = [...new Set(operations.map(tagOf))].sort();
  const contents = tags
    .map((tag) => `<li><a href="#${escapeHtml(tag)}">${escapeHtml(tag)}</a></li>`)
    .join('');
  const sections = tags.map((tag) =>
    renderTag(
      tag,
      operations.filter((one) => tagOf(one) === tag),
    ),
  );
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) => `<h3 id="schema-${escapeHtml(name)}">${escapeHtml(name)}</h3>${renderJson(schema)}`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice API</title>
<link rel="stylesheet" href="/api/docs/page.css">
</head>
<body class="reference">
${barOf('api')}
<main>
<h1>Sluice API ${escapeHtml(document.info.version)}</h1>
<p>${escapeHtml(document.info.description ?? '')} The same for programs: <a href="/api/openapi.json">openapi.json</a>.
Codes of errors: <a href="/docs/errors.md">docs/errors.md</a>.</p>
<nav><ul>${contents}<li><a href="#schemas">schemas</a></li></ul></nav>
${sections.join('\n')}
<h2 id="schemas">schemas</h2>
${schemas.join('\n')}
</main>
</body>
</html>
`;
}

function listOperations(document: OpenAPIV3_1.Document): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {}).map(([method, operation]) => ({
      ...(operation as OpenAPIV3_1.OperationObject),
      method: method.toUpperCase(),
      path,
    })),
  );
}

function tagOf(operation: Operation): string {
  return operation.tags?.[0] ?? 'other';
}

function renderTag(tag: string, operations: Operation[]): string {
  return `<h2 id="${escapeHtml(tag)}">${escapeHtml(tag)}</h2>\n${operations.map(renderOperation).join('\n')}`;
}

function renderOperation(operation: Operation): string {
  const body = operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined;
  const parameters = (operation.parameters ?? []) as OpenAPIV3_1.ParameterObject[];
  const replies = Object.entries(operation.responses ?? {});
  return `<details id="${escapeHtml(operation.operationId ?? '')}">
<summary><code>${operation.method} ${escapeHtml(operation.path)}</code> ${escapeHtml(operation.summary ?? '')}</summary>
<p>${escapeHtml(operation.description ?? '')}</p>
${renderParameters(parameters)}
${body ? `<h4>Body</h4>${renderContent(body.content)}` : ''}
<h4>With curl</h4>
<pre>${escapeHtml(curlOf(operation))}</pre>
<h4>Replies</h4>
<dl>${replies.map(([status, reply]) => `<dt>${status}</dt><dd>${renderReply(reply)}</dd>`).join('')}</dl>
</details>`;
}

/** To be copied: the address and the token come from variables of the shell, parameters are to be filled in. */
function curlOf({ method, path, requestBody, security }: Operation): string {
  const media = (requestBody as OpenAPIV3_1.RequestBodyObject | undefined)?.content['application/json'];
  const lines = [
    `curl -X ${method} "$SLUICE_URL${path}"`,
    ...(security?.length ? ['-H "authorization: Bearer $SLUICE_TOKEN"'] : []),
    ...(media ? ["-H 'content-type: application/json'", `-d '${JSON.stringify(media.example ?? {})}'`] : []),
  ];
  return lines.join(' \\\n  ');
}

function renderReply(reply: OpenAPIV3_1.ResponseObject | OpenAPIV3_1.ReferenceObject): string {
  // Only problems are shared.
  return '$ref' in reply ? 'a <a href="#schema-Problem">Problem</a>' : renderContent(reply.content);
}

function renderParameters(parameters: OpenAPIV3_1.ParameterObject[]): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map((parameter) => {
    const need = parameter.required ? 'required' : 'optional';
    const cells = [
      `<code>${escapeHtml(parameter.name)}</code>`,
      `${escapeHtml(parameter.in)}, ${need}`,
      escapeHtml(parameter.description ?? ''),
      `<code>${escapeHtml(JSON.stringify(parameter.schema ?? {}))}</code>`,
    ];
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  return `<h4>Parameters</h4><table>${rows.join('')}</table>`;
}

function renderContent(content: Record<string, OpenAPIV3_1.MediaTypeObject> | undefined): string {
  const parts = Object.entries(content ?? {}).map(([type, media]) => {
    const reference = (media.schema as OpenAPIV3_1.ReferenceObject | undefined)?.$ref?.split('/').at(-1);
    if (reference === undefined) return `${escapeHtml(type)}${renderJson(media.schema ?? {})}`;
    return `${escapeHtml(type)}: <a href="#schema-${escapeHtml(reference)}">${escapeHtml(reference)}</a>`;
  });
  return parts.join('') || 'no body';
}

function renderJson(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}
