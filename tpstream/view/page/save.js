// "Save this picture": the panels of a figure below each other, with titles, as a PNG or an SVG file.

const SAVED_WIDTH = 900, SAVED_RATIO = 2, TITLE_HEIGHT = 40, NAME_HEIGHT = 26;
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text) => String(text).replace(/[&<>"']/g, (letter) => ESCAPES[letter]);

// Takes the calls of a canvas that the panels make, and keeps them as elements of SVG.
class SvgInk {
  constructor() {
    Object.assign(this, { parts: [], stack: [], path: "", clipped: null, clips: 0, dash: [] });
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif", textAlign: "left", textBaseline: "alphabetic" });
    this.measure = document.createElement("canvas").getContext("2d");
  }
  setTransform() {} // SVG is as sharp as it is shown
  setLineDash(dash) { this.dash = dash; }
  save() { this.stack.push(Object.fromEntries(["clipped", "dash", "fillStyle", "strokeStyle", "lineWidth", "globalAlpha", "font", "textAlign", "textBaseline"].map((name) => [name, this[name]]))); }
  restore() { Object.assign(this, this.stack.pop()); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${round(x)} ${round(y)}`; }
  lineTo(x, y) { this.path += `${this.path ? "L" : "M"}${round(x)} ${round(y)}`; }
  closePath() { this.path += "Z"; }
  rect(x, y, width, height) { this.path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`; }
  clip() {
    this.clipped = `clip-${SvgInk.drawn}-${++this.clips}`;
    this.parts.push(`<clipPath id="${this.clipped}"><path d="${this.path}"/></clipPath>`);
  }
  add(name, attributes, inside = "") {
    const given = { ...attributes, ...(this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {}), ...(this.clipped ? { "clip-path": `url(#${this.clipped})` } : {}) };
    this.parts.push(`<${name}${Object.entries(given).map(([key, value]) => ` ${key}="${escaped(value)}"`).join("")}>${inside}</${name}>`);
  }
  fill() { this.add("path", { d: this.path, fill: this.fillStyle }); }
  stroke() {
    const dash = this.dash.length ? { "stroke-dasharray": this.dash.join(" ") } : {};
    if (this.path) this.add("path", { d: this.path, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth, "stroke-linejoin": "round", ...dash });
  }
  fillRect(x, y, width, height) { this.add("rect", { x: round(x), y: round(y), width: round(width), height: round(height), fill: this.fillStyle }); }
  strokeRect(x, y, width, height) { this.add("rect", { x: round(x), y: round(y), width: round(width), height: round(height), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth }); }
  measureText(text) { this.measure.font = this.font; return this.measure.measureText(text); }
  fillText(text, x, y, most = Infinity) {
    const [, weight, size] = this.font.match(/^(\d+ )?([\d.]+)px/), down = { top: 0.85, middle: 0.35 }[this.textBaseline] || 0;
    const anchor = { right: "end", center: "middle" }[this.textAlign] || "start", narrow = this.measureText(text).width > most ? { textLength: round(most), lengthAdjust: "spacingAndGlyphs" } : {};
    this.add("text", { x: round(x), y: round(y + down * Number(size)), "font-size": size, ...(weight ? { "font-weight": weight.trim() } : {}), "text-anchor": anchor, fill: this.fillStyle, ...narrow }, escaped(text));
  }
  drawImage(image, x, y, width, height) {
    this.add("image", { x: round(x), y: round(y), width: round(width), height: round(height), preserveAspectRatio: "none", style: "image-rendering:pixelated", href: image.toDataURL() });
  }
}
const round = (value) => Math.round(value * 100) / 100;

const pictureTitle = (figure) => `${figure.title}: ${byId("title").textContent}`;
const pictureHeight = (own) => own.reduce((sum, panel) => sum + panel.spec.height + NAME_HEIGHT, TITLE_HEIGHT);
// The title of a picture, then `place(panel, top)` for each panel, which draws it below its own title.
function drawPicture(ink, figure, own, place) {
  const colours = theme();
  ink.fillStyle = colours.back; ink.fillRect(0, 0, SAVED_WIDTH, pictureHeight(own));
  ink.fillStyle = colours.text; ink.font = "600 17px system-ui, 'DejaVu Sans', sans-serif";
  ink.fillText(pictureTitle(figure), 12, 26, SAVED_WIDTH - 24);
  let top = TITLE_HEIGHT;
  for (const panel of own) {
    ink.font = "13px system-ui, 'DejaVu Sans', sans-serif"; ink.fillStyle = colours.text;
    ink.fillText(panel.node.firstChild.textContent, 12, top + 16, SAVED_WIDTH - 24);
    place(panel, top + 22);
    top += panel.spec.height + NAME_HEIGHT;
  }
}
function svgPicture(figure, own) {
  const whole = new SvgInk(), height = pictureHeight(own);
  drawPicture(whole, figure, own, (panel, top) => {
    const piece = new SvgInk();
    SvgInk.drawn += 1;
    panel.paint(piece, SAVED_WIDTH, 1);
    whole.parts.push(`<g transform="translate(0 ${top})">`, ...piece.parts, "</g>");
  });
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${SAVED_WIDTH}" height="${height}" viewBox="0 0 ${SAVED_WIDTH} ${height}" font-family="system-ui, 'DejaVu Sans', sans-serif">`;
  return new Blob([head, `<title>${escaped(pictureTitle(figure))}</title>`, ...whole.parts, "</svg>\n"], { type: "image/svg+xml" });
}
SvgInk.drawn = 0;
function pngPicture(figure, own) {
  const canvas = document.createElement("canvas"), ink = canvas.getContext("2d");
  canvas.width = SAVED_WIDTH * SAVED_RATIO;
  canvas.height = pictureHeight(own) * SAVED_RATIO;
  ink.setTransform(SAVED_RATIO, 0, 0, SAVED_RATIO, 0, 0);
  drawPicture(ink, figure, own, (panel, top) => {
    const piece = document.createElement("canvas");
    piece.width = SAVED_WIDTH * SAVED_RATIO; piece.height = panel.spec.height * SAVED_RATIO;
    panel.paint(piece.getContext("2d"), SAVED_WIDTH, SAVED_RATIO);
    ink.drawImage(piece, 0, top, SAVED_WIDTH, panel.spec.height);
  });
  return new Promise((done) => canvas.toBlob(done));
}
async function savePicture(figure, own, form) {
  const blob = await (form === "svg" ? svgPicture : pngPicture)(figure, own);
  const link = element("a", { href: URL.createObjectURL(blob), download: `${figure.id}.${form}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  redraw(); // the panels remember the ink and the width with which they were drawn last
}
function saveButtons(figure, own) {
  const button = (form, name) => element("button", { type: "button", title: `Save this picture as ${name}`, onclick: () => savePicture(figure, own, form) }, `save ${name}`);
  return element("span", { class: "choices" }, ...["png", "svg"].map((form) => button(form, form.toUpperCase())));
}
