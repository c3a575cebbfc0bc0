import type { SluiceError } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';

/** A record, or the position where one should be. */
export interface RecordPlace {
  words: string;
  record: number;
  byteOffset: number;
}

const detailsOf = ({ record, byteOffset }: RecordPlace) => ({ record, byte_offset: byteOffset });

export function unexpected(
  place: RecordPlace,
  { mark, expected }: { mark: string; expected: string },
): SluiceError {
  return reportErrors.raise.report_json_malformed(
    `The report is not valid JSON: it has ${JSON.stringify(mark)} at byte ${place.byteOffset}, before record ` +
      `${place.record}, where ${expected} should be.`,
    { details: detailsOf(place) },
  );
}

/** `isOpen`: the text ends inside a record or member. */
export function truncated(
  place: RecordPlace,
  { isMember, isOpen, expected }: { isMember: boolean; isOpen: boolean; expected: string },
): SluiceError {
  const { words, byteOffset, record } = place;
  const what = isOpen
    ? `${isMember ? 'the member' : words}, which begins at byte ${byteOffset}, is not closed`
    : `${expected} should follow at byte ${byteOffset}, after ${record - 1} records`;
  return reportErrors.raise.report_json_truncated(`The report ends before its JSON is complete: ${what}.`, {
    details: detailsOf(place),
  });
}

export function cutOff(place: RecordPlace): SluiceError {
  return reportErrors.raise.report_json_malformed(
    `${place.words}, which begins at byte ${place.byteOffset} of the report, is not valid JSON: its line ends, or ` +
      'another record begins, before it is closed.',
    { details: detailsOf(place) },
  );
}

export function notAnObject(place: RecordPlace, what: string): SluiceError {
  return reportErrors.raise.report_record_not_an_object(
    `${place.words}, at byte ${place.byteOffset} of the report, is ${what}; each must be an object that names ` +
      'its fields.',
    { details: detailsOf(place) },
  );
}

export function tooLarge(place: RecordPlace, maxLength: number): SluiceError {
  return reportErrors.raise.report_row_too_large(
    `${place.words}, which begins at byte ${place.byteOffset} of the report, has more than ${maxLength} characters, ` +
      'the most allowed; an unclosed quote or bracket has the same effect.',
    { details: { ...detailsOf(place), max_characters: maxLength } },
  );
}

export function tooMany(maxLines: number): SluiceError {
  return reportErrors.raise.report_too_many_lines(
    `The report has more than ${maxLines} records, the most allowed.`,
    { details: { max_lines: maxLines } },
  );
}
