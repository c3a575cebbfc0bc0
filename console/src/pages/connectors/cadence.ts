/** A cadence in words: "every 6 h". */
export function everyHours(hours: number): string {
  if (hours < 1) return `every ${Math.round(hours * 60)} min`;
  return hours % 24 === 0 && hours >= 48 ? `every ${hours / 24} days` : `every ${hours} h`;
}
