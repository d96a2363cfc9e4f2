// tip.js: tooltips of the marks in pictures.
export function showTips(tip) {
  document.addEventListener('pointermove', (e) => {
    const target = e.target.closest?.('[data-tip]');
    tip.hidden = !target?.dataset.tip;
    if (tip.hidden) return;
    if (tip.textContent !== target.dataset.tip) tip.textContent = target.dataset.tip;
    const {offsetWidth: w, offsetHeight: h} = tip;
    tip.style.left = `${Math.min(e.clientX + 14, innerWidth - w - 8)}px`;
    tip.style.top = `${e.clientY + h + 22 > innerHeight ? e.clientY - h - 10 : e.clientY + 16}px`;
  });
  document.addEventListener('pointerleave', () => {
    tip.hidden = true;
  });
}
