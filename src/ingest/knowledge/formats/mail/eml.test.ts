import { expect, test } from 'vitest';
import { readDocument } from '../read-document.ts';

const { signal } = new AbortController();
const read = (text: string, name = 'a.eml') =>
  readDocument({ name, bytes: Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1') }, { signal });

test('a message has its subject, people, date and text, in any encoding, and names what is attached', async () => {
  const message = `Received: by example.org
From: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>
To: Ann Bee <ann@example.org>, team@example.org
Subject: =?iso-8859-1?Q?Gr=F6=DFe?= of the
 pump
Date: Fri, 4 May 2001 14:05:44 -0400
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: multipart/alternative; boundary="c"

--c
Content-Type: text/plain; charset=utf-8

Plain.
--c
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

<html><body><p>The pump is oiled <b>weekly</b> =
with warm oil.</p><ul><li>Gr=F6=DFe 5</li></ul></body></html>
--c--
--b
Content-Type: application/pdf; name="plan.pdf"
Content-Disposition: attachment; filename="plan.pdf"
Content-Transfer-Encoding: base64

JVBERi0xLjQK
--b--
`;
  for (const name of ['a.eml', 'no-ending']) {
    const found = await read(message, name);
    if (found.kind !== 'text') throw new Error(JSON.stringify(found));
    expect(found.title).toBe('Größe of the pump');
    expect(found.text).toContain(
      '- From: Jürgen <j@example.org>\n- To: Ann Bee <ann@example.org>, team@example.org',
    );
    expect(found.text).toContain('The pump is oiled weekly with warm oil.');
    expect(found.text).toContain('- Größe 5');
    expect(found.text).toContain('Attachments: plan.pdf');
    expect(found.notes).toEqual([expect.stringContaining('plan.pdf')]);
    expect(found.metadata).toMatchObject({ format: 'eml', created: '2001-05-04T18:05:44.000Z' });
  }
});

test('a plain message keeps its paragraphs, and a file without headers is broken', async () => {
  expect(await read('Subject: a\n\nOne.\n\nTwo.\n')).toMatchObject({ text: '- Subject: a\n\nOne.\n\nTwo.' });
  expect(await read('\n\nhello')).toMatchObject({ kind: 'error', code: 'document_is_broken' });
});
