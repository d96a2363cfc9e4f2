// csv.js: parses the program's CSV into objects.
export function parseCsv(text) {
  const rows = [];
  let row = [];
  let field = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"')
        field += c;
      else if (text[i + 1] === '"') {
        field += '"';
        i++;
      } else
        quoted = false;
    } else if (c === '"')
      quoted = true;
    else if (c === ',') {
      row.push(field);
      field = '';
    } else if (c === '\n') {
      rows.push([...row, field]);
      row = [];
      field = '';
    } else
      field += c;
  }
  const [head, ...rest] = rows;
  return rest.map((r) => Object.fromEntries(head.map((name, i) => [name, r[i] ?? ''])));
}
