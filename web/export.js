// export.js: saves files: texts, and charts as SVG or PNG that need no style sheet.

export function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Presentation attributes that saved pictures keep; all except opacity are inherited.
const LOOKS = [
  'opacity', 'fill', 'stroke', 'fill-opacity', 'stroke-opacity', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin',
  'font-size', 'font-weight', 'text-anchor'
];
const INITIAL = {
  opacity: '1'
};

// Converts a colour to rgb(), which every SVG reader supports.
const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const colours = new Map();
function plainColour(value) {
  if (!/^(color|color-mix|oklab|oklch|lab|lch)\(/.test(value)) return value;
  if (!colours.has(value)) {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = value;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
    colours.set(value, `rgb(${r}, ${g}, ${b})`);
  }
  return colours.get(value);
}

// Sets the computed style of `from` as attributes of its copy `to`, for `to` and its children.
function copyLook(from, to, above) {
  const style = getComputedStyle(from);
  const look = {};
  for (const name of LOOKS) {
    look[name] = plainColour(style.getPropertyValue(name));
    if (look[name] !== (name in INITIAL ? INITIAL[name] : above[name]))
      to.setAttribute(name, look[name]);
    else
      to.removeAttribute(name);
  }
  for (const {name} of [...to.attributes])
    if (/^(style|class|tabindex|role|aria-|data-)/.test(name)) to.removeAttribute(name);
  for (let i = 0; i < from.children.length; i++) copyLook(from.children[i], to.children[i], look);
}

// A self-contained picture with a background.
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const label = svg.getAttribute('aria-label');
  const {x, y, width, height} = svg.viewBox.baseVal;
  copyLook(svg, copy, {});
  copy.setAttribute('font-family', getComputedStyle(svg).fontFamily);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `${x - 8} ${y - 8} ${width + 16} ${height + 16}`);
  copy.setAttribute('width', width + 16);
  copy.setAttribute('height', height + 16);
  svg.querySelectorAll('.slo.off').forEach((hint) => {
    const inside = [...hint.parentNode.children].indexOf(hint);
    copy.children[inside]?.remove();
  });
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  title.textContent = label;
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  Object.entries({x: x - 8, y: y - 8, width: width + 16, height: height + 16}).forEach(([name, value]) => back.setAttribute(name, value));
  back.setAttribute('fill', plainColour(getComputedStyle(document.documentElement).getPropertyValue('--surface')));
  copy.prepend(title, back);
  return new XMLSerializer().serializeToString(copy);
}

const MOST_PIXELS = 16000;  // limit of browsers on the side of a canvas

export async function savePng(name, svg, scale = 2) {
  const text = svgText(svg);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  scale = Math.min(scale, MOST_PIXELS / Math.max(image.width, image.height));
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.drawImage(image, 0, 0);
  save(name, await new Promise((resolve) => canvas.toBlob(resolve, 'image/png')));
}
