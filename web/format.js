// format.js: formats numbers as the program's tables do.

export function digits(x, count = 4) {
  if (x == null || !Number.isFinite(x)) return '?';
  if (x === 0) return '0';
  const exponent = Math.floor(Math.log10(Math.abs(x)));
  if (exponent >= 9 || exponent < -6) return x.toExponential(count - 1);
  return group(x.toFixed(Math.max(0, count - 1 - exponent)));
}

export function group(text) {
  const [whole, part] = String(text).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return part ? `${grouped}.${part}` : grouped;
}

// Decimals for a column of numbers, such that the largest has four digits.
export function decimalsFor(numbers, count = 4) {
  const most = numbers.reduce((m, x) => (Number.isFinite(x) ? Math.max(m, Math.abs(x)) : m), 0);
  return most > 0 ? Math.min(9, Math.max(0, count - 1 - Math.floor(Math.log10(most)))) : 0;
}

// A number of such a column; numbers that would round to 0 become "< 0.01".
export function fixed(x, decimals) {
  if (x == null || !Number.isFinite(x)) return '';
  const text = x.toFixed(decimals);
  return x && !Number(text) ? `< ${(10 ** -decimals).toFixed(decimals)}` : group(text);
}

export const whole = (x) => (x == null || !Number.isFinite(x) ? '?' : group(Math.round(x)));

export function si(x, unit = '') {
  if (x == null || !Number.isFinite(x)) return '?';
  const units = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
  let step = 0;
  while (Math.abs(x) >= 1000 && step < 6) {
    x /= 1000;
    step++;
  }
  const text = step ? digits(x, 4) : digits(x, 4).replace(/\.0+$/, '');
  return `${text} ${units[step]}${unit}`.trim();
}

export function bytes(x) {
  if (x == null || !Number.isFinite(x)) return '?';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let step = 0;
  while (x >= 1024 && step < 4) {
    x /= 1024;
    step++;
  }
  return `${step ? digits(x, 4) : x} ${units[step]}`;
}

export const percent = (x) => (x == null || !Number.isFinite(x) ? '?' : `${x.toFixed(1)} %`);

const SPECIAL = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
};
export const escape = (text) => String(text ?? '').replace(/[&<>"']/g, (c) => SPECIAL[c]);

// Allows line breaks after the separators of a name.
export const breakable = (text) => escape(text).replace(/[_./:]/g, '$&<wbr>');

// A short tick: "250", "1k", "0.5".
export function tick(x) {
  if (x === 0) return '0';
  const a = Math.abs(x);
  for (const [unit, size] of [['P', 1e15], ['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3]])
    if (a >= size * 0.9999) return `${Number((x / size).toPrecision(4))}${unit}`;
  return `${Number(x.toPrecision(4))}`;
}

// Pictures are drawn for a 15-pixel font and scaled with the page's font.
export const scaleOf = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 15 || 1;
