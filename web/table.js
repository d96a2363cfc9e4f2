// table.js: a table that its headings sort. A long table first shows a part of its rows.
import {decimalsFor, escape, fixed} from './format.js';

const FIRST_ROWS = 300;

// columns: [{title, key(row), show(row): HTML, number, class, decimals, suffix, hint}]; rows are any values. Row
// attributes come from attributes(row). Numbers without `show` have the same decimals in the whole column, so that
// their points align.
export class Table {
  constructor(element, {columns, attributes = () => '', label, sort = null, down = true}) {
    Object.assign(this, {element, columns, attributes, label, sort, down, rows: [], limit: FIRST_ROWS});
    element.addEventListener('click', (e) => {
      const heading = e.target.closest('th button');
      if (heading) this.sortBy(Number(heading.dataset.column));
      if (e.target.closest('.more')) {
        this.limit = Infinity;
        this.draw();
      }
    });
  }

  sortBy(column) {
    if (this.sort === column)
      this.down = !this.down;
    else {
      this.sort = column;
      this.down = Boolean(this.columns[column].number);
    }
    this.draw();
    this.element.querySelector(`th button[data-column="${column}"]`).focus();
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    let rows = this.rows;
    if (this.sort != null) {
      const {key} = this.columns[this.sort];
      const value = (row) => {
        const v = key(row);
        return v == null || Number.isNaN(v) ? -Infinity : v;
      };
      const sign = this.down ? -1 : 1;
      rows = rows.map((row) => [value(row), row])
               .sort(([a], [b]) => sign *
                   (typeof a === 'string' || typeof b === 'string' ?
                       String(a).localeCompare(String(b), 'en', {numeric: true}) :
                       a - b))
               .map(([, row]) => row);
    }
    const shows = this.columns.map((c) => {
      if (c.show) return c.show;
      const decimals = c.decimals ?? decimalsFor(this.rows.map(c.key));
      return (row) => {
        const text = fixed(c.key(row), decimals);
        return text && c.suffix ? text + c.suffix : text;
      };
    });
    const classOf = (c) => [c.number && 'n', c.class].filter(Boolean).join(' ');
    const classed = (c) => (classOf(c) ? ` class="${classOf(c)}"` : '');
    const place = this.element.querySelector('.wide')?.scrollTop ?? 0;
    const cut = rows.length > this.limit ? rows.slice(0, this.limit) : rows;
    const heads = this.columns
                    .map((c, i) => `<th${classed(c)} scope="col"${c.hint ? ` data-tip="${escape(c.hint)}"` : ''}${
                           this.sort === i ? ` aria-sort="${this.down ? 'descending' : 'ascending'}"` :
                                             ''}><button type="button" data-column="${i}">${escape(c.title)}${
                           this.sort === i ? (this.down ? ' ↓' : ' ↑') : ''}</button></th>`)
                    .join('');
    const body = cut
                   .map((row) => `<tr${this.attributes(row)}>${
                          this.columns.map((c, i) => `<td${classed(c)}>${shows[i](row)}</td>`).join('')}</tr>`)
                   .join('');
    this.element.innerHTML = `<div class="wide" tabindex="0" role="region" aria-label="${
      escape(this.label)}"><table><thead><tr>${heads}</tr></thead><tbody>${body}</tbody></table></div>${
      rows.length > cut.length ? `<p><button type="button" class="more">Show all ${rows.length} rows</button></p>` :
                                 ''}`;
    this.element.querySelector('.wide').scrollTop = place;
  }
}
