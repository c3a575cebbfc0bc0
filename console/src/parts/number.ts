const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/** 1,204 */
export function count(value: number): string {
  return whole.format(value);
}

/** 12.3K: for axes and tight places only; wherever numbers have to add up they are written in full. */
export function shortCount(value: number): string {
  return short.format(value);
}

/** 37 dead letters, 1 dead letter */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** 98.7%; never "100%" for what is not all, nor "0%" for what is something. */
export function share(part: number, total: number): string {
  if (total <= 0) return '–';
  const value = part / total;
  if (value > 0 && value < 0.001) return '<0.1%';
  if (value < 1 && value > 0.999) return '>99.9%';
  return percent.format(value);
}

const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB'];

/** 50.0 MB, by thousands as disks and providers count. */
export function bytes(value: number): string {
  let scaled = value;
  let unit = 0;
  while (scaled >= 999.95 && unit < byteUnits.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? whole.format(scaled) : scaled.toFixed(1)} ${byteUnits[unit]}`;
}

/** 1,234/s, 12.5/s, 3.2/min: the unit in which the number can be read. */
export function rate(perSecond: number): string {
  if (!Number.isFinite(perSecond) || perSecond <= 0) return '0/s';
  if (perSecond >= 100) return `${whole.format(perSecond)}/s`;
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`;
  const perMinute = perSecond * 60;
  return perMinute >= 1 ? `${perMinute.toFixed(1)}/min` : `${(perMinute * 60).toFixed(1)}/h`;
}
