export interface IdFault {
  code: 'id_damaged_by_spreadsheet' | 'invalid_id';
  message: string;
}

/** Platform ids are digits that are never calculated with: kept as they are, however long. Null marks come before. */
export function readId(text: string): string | IdFault {
  const id = text.trim();
  if (isDigits(id)) return id;
  return exponent.test(id) ? damaged : invalid;
}

const maxIdDigits = 64;
const exponent = /^\d+(?:[.,]\d+)?e\+?\d{1,3}$/i;

function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > maxIdDigits) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return true;
}

const damaged: IdFault = {
  code: 'id_damaged_by_spreadsheet',
  message:
    'A spreadsheet turned this id into a rounded number, so it no longer says which object is meant. Upload the file ' +
    'as the platform exported it, without opening and saving it.',
};

const invalid: IdFault = {
  code: 'invalid_id',
  message: `An id is 1 to ${maxIdDigits} digits and nothing else. Correct it, or leave the column out to go by names.`,
};
