'use strict';
(() => {
  const tip = document.getElementById('tip');
  const words = new WeakMap();
  let lit = null;

  // A title is taken away once it was read: browsers would show it a second time.
  const said = mark => {
    const title = mark.querySelector('title');
    if (title) { words.set(mark, title.textContent); title.remove(); }
    return words.get(mark);
  };
  const hide = () => {
    if (lit) lit.classList.remove('lit');
    lit = null;
    tip.hidden = true;
  };
  const show = mark => {
    if (mark === lit) return;
    hide();
    lit = mark;
    mark.classList.add('lit');
    tip.textContent = said(mark);
    tip.hidden = false;
    const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(12, at.left + at.width / 2 + 14), innerWidth - own.width - 12);
    const below = at.bottom + 12, above = at.top - own.height - 12;
    tip.style.transform = `translate(${Math.max(12, left)}px,${below + own.height < innerHeight || above < 0 ? below : above}px)`;
  };

  for (const chart of document.querySelectorAll('.chart')) {
    const dots = [...chart.querySelectorAll('circle.p')].map(mark =>
      ({ mark, x: +mark.getAttribute('cx'), y: +mark.getAttribute('cy'), on: mark.classList.length > 1 }));
    // The nearest dot within a finger's width; highlighted ones reach further.
    const near = event => {
      const box = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = null, least = 18 * scale;
      for (const dot of dots) {
        const far = Math.hypot(dot.x - x, dot.y - y) * (dot.on ? .6 : 1);
        if (far < least) [best, least] = [dot.mark, far];
      }
      return best || event.target.closest('.p');
    };
    const point = event => { const mark = near(event); mark ? show(mark) : hide(); };
    chart.addEventListener('pointermove', point);
    chart.addEventListener('pointerdown', point);
    chart.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse') hide(); });
    const walk = [...chart.querySelectorAll('.p.on')];
    const all = walk.length ? walk : [...chart.querySelectorAll('.p')];
    chart.addEventListener('keydown', event => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !all.length) return;
      event.preventDefault();
      const from = all.indexOf(lit);
      show(all[from < 0 ? (step > 0 ? 0 : all.length - 1) : (from + step + all.length) % all.length]);
    });
    chart.addEventListener('blur', hide);
  }
  addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
  addEventListener('pointerdown', event => { if (!event.target.closest('.chart')) hide(); });
  addEventListener('scroll', hide, { passive: true });

  for (const button of document.querySelectorAll('th button')) {
    button.addEventListener('click', () => {
      const head = button.parentElement, column = head.cellIndex, table = head.closest('table');
      const down = head.getAttribute('aria-sort') === 'ascending';
      const key = row => { const cell = row.cells[column]; return 'v' in cell.dataset ? +cell.dataset.v : cell.textContent; };
      const order = (a, b) => { const x = key(a), y = key(b); return (x > y) - (x < y); };
      const rows = [...table.tBodies[0].rows].sort((a, b) => down ? order(b, a) : order(a, b));
      table.tBodies[0].append(...rows);
      for (const other of head.parentElement.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    });
  }
})();
