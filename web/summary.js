// summary.js: the figures at the top and their explanations.
import {digits, escape, percent, whole} from './format.js';

function range(interval) {
  const low = interval.low * 0.85;
  const high = interval.high * 1.1;
  const at = (v) => `${((100 * (v - low)) / (high - low)).toFixed(1)}%`;
  return `<div class="range" aria-hidden="true"><i style="left:${at(interval.low)};right:calc(100% - ${
    at(interval.high)})"></i><u style="left:${at(interval.value)}"></u></div>`;
}

export const subtitleOf =
  (a) => [`${a.gpu}${a.mig ? ` ${a.mig}` : ''}`, `batch ${a.batch}`, a.precision, a.layout, a.runtime,
    a.mode === 'infer'   ? 'inference' :
      a.mode === 'train' ? 'training step' :
                           'forward pass of training',
    a.optimizer, a.model.format === 'zoo' ? '' : `${a.model.format}${a.model.producer ? `, ${a.model.producer}` : ''}`]
           .filter(Boolean)
           .join(' · ');

export const notesOf = (a) => [...a.notes,
  ...(a.unknown_share > 0 ?
      [`${percent(100 * a.unknown_share)} of the latency is in unknown operators, whose times are guesses.`] :
      [])];

function verdict(a) {
  return a.limit ? `<span class="no">fails: ${escape(a.limit)}</span>` :
    a.fits_upper     ? '<span class="yes">fits</span>' :
    a.fits           ? 'fits by the estimate alone' :
    a.fits === false ? '<span class="no">does not fit</span>' :
                       '';
}

// [title, what it means, value, text, unit, note, interval]
function figures(a) {
  const between = (i) => `${a.interval_percent} %: ${digits(i.low)} to ${digits(i.high)}`;
  const per = a.mode === 'infer' ? 'one pass over the batch' : 'one step on the batch';
  const sure = `With ${a.interval_percent} % probability it is within the bar.`;
  return [
    [
      'latency', `Time of ${per}. ${sure}`, a.latency_ms.value, digits(a.latency_ms.value), 'ms', between(a.latency_ms),
      a.latency_ms
    ],
    ['throughput', 'Batch ÷ latency', a.throughput_per_s, digits(a.throughput_per_s), '/s', 'samples per second'],
    [
      'energy', `Energy of the GPU's board for ${per}. ${sure}`, a.energy_j?.value, digits(a.energy_j?.value), 'J',
      `${digits(a.energy_j_per_1000)} J per 1,000 samples`, a.energy_j
    ],
    [
      'power', `Mean power of the GPU's board. ${sure}`, a.power_w?.value, digits(a.power_w?.value), 'W',
      `limit ${digits(a.power_limit_w)} W`, a.power_w
    ],
    ['CO₂', 'Energy × CO₂ of your electricity', a.co2_g, digits(a.co2_g), 'g', `for ${per}`],
    [
      'GPU utilization', 'Used share of the GPU’s peak FLOP/s in this precision', a.utilization.compute,
      percent(a.utilization.compute).replace(' %', ''), '%', `DRAM bandwidth ${percent(a.utilization.dram)}`
    ],
    [
      'occupancy', 'Resident threads, of those that the GPU can hold, while kernels run', a.utilization.occupancy,
      percent(a.utilization.occupancy).replace(' %', ''), '%', `waves filled ${percent(a.utilization.wave_efficiency)}`
    ],
    [
      'memory', `Peak as nvidia-smi shows it: tensors, workspace, cache and the driver. ${sure}`, a.memory_mib?.value,
      whole(a.memory_mib?.value), 'MiB',
      [verdict(a), a.capacity_mib && `of ${whole(a.capacity_mib)} MiB`].filter(Boolean).join(' · '), a.memory_mib
    ],
    [
      'kernels', 'Programs that run on the GPU, one after another; the host launches each', a.kernels.length,
      whole(a.kernels.length), '', `GPU ${digits(a.device_ms)} ms · host ${digits(a.host_ms)} ms`
    ],
  ];
}

export const cardsOf = (a) =>
  figures(a)
    .filter(([, , value]) => value != null)
    .map(([title, meaning, value, text, unit, note, interval], i) =>
           `<div class="card${i ? '' : ' lead'}" data-tip="${escape(meaning)}"><h2>${title}</h2><b data-value="${
             value}">${text} <small>${unit}</small></b>${interval && interval.low != null ? range(interval) : ''}<p>${
             note}</p><span class="hidden">${escape(meaning)}</span></div>`)
    .join('');
