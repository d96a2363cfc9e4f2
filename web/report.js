// report.js: draws the pictures of `sooth predict --format html`, from the answer that the report carries.
(() => {
  const a = answer;
  const indices = new Map();
  a.layers.forEach((l, i) => {
    if (!indices.has(l.name)) indices.set(l.name, i);
  });
  const times = schedule(a.kernels);
  const roof = roofOf(a);
  const pictures = {
    split: (width) => split({
      width,
      label: 'Latency by what bounds it, in milliseconds',
      rows: [{name: 'predicted', parts: a.bound_ms}, {name: 'at the peaks', parts: a.ideal_ms}]
    }),
    timeline: (width) => timeline({
      kernels: a.kernels,
      times,
      layerOf: (k) => indices.get(k.layer) ?? -1,
      from: 0,
      to: times.length ? times[times.length - 1].end : 1,
      width
    }),
    memory: (width) => memory({
      points: a.memory_over_time,
      parts: a.memory_mib.parts,
      capacity: a.capacity_mib,
      total: a.memory_mib,
      total_ms: a.latency_ms.value,
      peakLayer: a.memory_peak.layer,
      width
    }),
    roofline: (width) =>
      (roof ? roofline({layers: a.layers, ...roof, total: a.latency_ms.value, width, height: 420}) : ''),
  };
  const draw = () => document.querySelectorAll('[data-plot]').forEach((plot) => {
    plot.innerHTML = pictures[plot.dataset.plot](Math.max(280, Math.floor(plot.clientWidth)));
  });
  draw();
  addEventListener('resize', draw);
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  showTips(tip);
})();
