/** Weeks, days, hours, minutes and seconds. Years and months have no fixed length, and Airbyte never sends them. */
const number = String.raw`(\d+(?:\.\d+)?)`;
const time = `(?:${number}H)?(?:${number}M)?(?:${number}S)?`;
// The look-aheads refuse P and T with nothing after them.
const pattern = new RegExp(String.raw`^P(?=\d|T)(?:${number}W)?(?:${number}D)?(?:T(?=\d)${time})?$`);
const maxLength = 100;

/** The seconds of an ISO 8601 duration such as PT8H6M12S; null for any other text. */
export function durationSecondsOf(text: string): number | null {
  const parts = text.length > maxLength ? null : pattern.exec(text);
  if (parts === null) return null;
  const [weeks, days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  return (
    (((weeks ?? 0) * 7 + (days ?? 0)) * 24 + (hours ?? 0)) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0)
  );
}
