// combo.js: a text field with a list of matches (the ARIA pattern of a combobox).
import {escape} from './format.js';

const MOST = 60;

// items(): [{value, text, note, words}]; pick(value, item)
export function combo(input, list, items, pick) {
  let shown = [];
  let at = 0;

  function close() {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  }

  function mark(index) {
    at = Math.max(0, Math.min(shown.length - 1, index));
    [...list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === at && shown.length > 0)));
    if (!shown.length) return;
    input.setAttribute('aria-activedescendant', list.children[at].id);
    list.children[at].scrollIntoView({block: 'nearest'});
  }

  function open() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const scored =
      items().map((item) => [item, `${item.text} ${item.words ?? ''} ${item.note ?? ''}`.toLowerCase()]).filter(([,
        text]) => words.every((w) => text.includes(w)));
    if (words.length)
      scored.sort(([a], [b]) => Number(b.text.toLowerCase().startsWith(words[0])) -
          Number(a.text.toLowerCase().startsWith(words[0])));
    shown = scored.slice(0, MOST).map(([item]) => item);
    list.innerHTML = shown
                       .map((item, i) => `<li role="option" id="${list.id}-${i}" data-at="${i}"><b>${
                              escape(item.text)}</b><span>${escape(item.note ?? '')}</span></li>`)
                       .join('') ||
      '<li class="none">no match</li>';
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    mark(0);
  }

  function take(index) {
    const item = shown[index];
    if (!item) return;
    input.value = '';
    close();
    pick(item.value, item);
  }

  input.addEventListener('focus', open);
  input.addEventListener('click', () => list.hidden && open());
  input.addEventListener('input', open);
  input.addEventListener('blur', () => setTimeout(close, 120));
  input.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      if (list.hidden)
        open();
      else
        mark(at + (e.key === 'ArrowDown' ? 1 : -1));
    } else if (e.key === 'Enter') {
      if (!list.hidden) take(at);
    } else if (e.key === 'Escape')
      close();
    else
      return;
    e.preventDefault();
  });
  list.addEventListener('pointerdown', (e) => {
    e.preventDefault();
    const li = e.target.closest('li[data-at]');
    if (li) take(Number(li.dataset.at));
  });
}
