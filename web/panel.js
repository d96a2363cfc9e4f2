// panel.js: building blocks of the views: panels, plots, legends, columns.
import {escape, percent, scaleOf} from './format.js';

const widthOf = (element) => Math.max(280, Math.floor(element.clientWidth / scaleOf()));
export const legend = (items) => `<ul class="legend">${
  items.map(([color, text]) => `<li><i style="--k:var(--${color})"></i>${escape(text)}</li>`).join('')}</ul>`;
export const BOUNDS =
  legend([['compute', 'bound by compute'], ['memory', 'bound by memory'], ['launch', 'launch, waiting for the host']]);
export const save =
  '<button type="button" data-save="svg">SVG</button><button type="button" data-save="png">PNG</button>';
export const panel = (id, title, note, body, tools = save) => `<section class="panel" id="${id}"><header><div><h2>${
  title}</h2>${note ? `<p>${note}</p>` : ''}</div><div class="panel-tools">${tools}</div></header>${body}</section>`;
export const plot = (name) => `<div class="plot" data-plot="${name}"></div>`;
export const bound = (kind) => `<span class="bound ${escape(kind)}">${escape(kind)}</span>`;

// Draws `picture(width)` into a plot now and when its width changes.
export function draw(c, element, name, picture) {
  const target = element.querySelector(`[data-plot="${name}"]`);
  c.onWidth(target, () => {
    target.innerHTML = picture(widthOf(target));
  });
}

// A column of numbers, aligned at their points.
export const number = (title, key, more = {}) =>
  ({title, number: true, key: typeof key === 'function' ? key : (r) => r[key], ...more});
// A column of numbers with their own units.
export const withUnit = (title, key, show, more = {}) => ({...number(title, key, more), show: (r) => show(r[key])});
export const share = (title, key, more = {}) => withUnit(title, key, percent, more);

export function toCsv(rows) {
  const head = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  const field = (v) => (/[",\n]/.test(v ?? '') ? `"${String(v).replace(/"/g, '""')}"` : v ?? '');
  return `${[head, ...rows.map((r) => head.map((h) => r[h]))].map((r) => r.map(field).join(',')).join('\n')}\n`;
}
