// export.js: saves files: texts, and charts as SVG or PNG with embedded colours.

export function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function chartRules() {
  const sheet = [...document.styleSheets].find((s) => s.href && /\/charts\.css/.test(s.href));
  return [...sheet.cssRules].filter((r) => !/^:root|^@media/.test(r.cssText)).map((r) => r.cssText).join('\n');
}

// A self-contained picture: resolved variables, its style rules, a background.
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const own = getComputedStyle(document.documentElement);
  const rules = chartRules();
  const used = new Set([
    ...`${rules} ${copy.outerHTML}`.matchAll(/var\(--([\w-]+)/g)
  ].map((m) => m[1]).filter((name) => name !== 'c' && name !== 'k'));
  const variables = [...used].map((name) => `--${name}:${own.getPropertyValue(`--${name}`)}`).join(';');
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const style = document.createElementNS('http://www.w3.org/2000/svg', 'style');
  style.textContent = `svg{${variables}}\n${rules}`;
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  const {width, height} = svg.viewBox.baseVal;
  back.setAttribute('x', '-8');
  back.setAttribute('y', '-8');
  back.setAttribute('width', width + 16);
  back.setAttribute('height', height + 16);
  back.setAttribute('style', `fill:${own.getPropertyValue('--surface')}`);
  copy.setAttribute('viewBox', `-8 -8 ${width + 16} ${height + 16}`);
  copy.setAttribute('width', width + 16);
  copy.setAttribute('height', height + 16);
  copy.prepend(style, back);
  return new XMLSerializer().serializeToString(copy);
}

export async function savePng(name, svg, scale = 2) {
  const text = svgText(svg);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.drawImage(image, 0, 0);
  save(name, await new Promise((resolve) => canvas.toBlob(resolve, 'image/png')));
}
