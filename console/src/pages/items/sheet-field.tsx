import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import { isWorkbook } from './chosen-files.ts';

/** The sheet of a workbook. Another file clears the field; a corrected version of the same file keeps it. */
export function useSheet(files: readonly File[]) {
  const [draft, setDraft] = useState({ fileName: '', text: '' });
  const [file] = files;
  const fileName = file !== undefined && files.length === 1 && isWorkbook(file) ? file.name : null;
  const text = draft.fileName === fileName ? draft.text : '';
  return {
    /** As it is sent; empty: nothing is. */
    sheet: text.trim(),
    sheetField: (error: unknown) =>
      fileName === null ? null : (
        <TextInput
          label="Sheet"
          description="Its name or number; empty: the first visible sheet"
          maw={420}
          value={text}
          error={refusalOf(error)}
          onChange={(event) => setDraft({ fileName, text: event.currentTarget.value })}
        />
      ),
  };
}

/** The server's sentence says which sheets there are. */
function refusalOf(error: unknown): string | undefined {
  return error instanceof ApiProblem && error.code === 'sheet_not_found' ? error.detail : undefined;
}
