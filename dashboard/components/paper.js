// A figure as a journal takes it: light, 85 or 170 mm wide, with cells as rectangles and the font in the file.
const LAYOUT = { 85: 450, 170: 900 }; // pixels for which Plotly lays it out: 13 of them become 7 points
const DPI = 600; // of a PNG
const LEGIBLE = 28; // pixels of a cell that holds a number
const MOST_CELLS = 20000; // larger matrices stay pictures

async function paper(gd, format, millimetres) {
  const svg = await laidOut(gd, LAYOUT[millimetres]);
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  const columns = gd._fullData.find((trace) => trace.type === "heatmap")?.z[0].length;
  for (const image of svg.querySelectorAll(".hm image")) {
    if (image.getAttribute("width") / columns < LEGIBLE) svg.querySelectorAll(".heatmap-label").forEach((e) => e.remove());
    await drawCells(image);
  }
  svg.prepend(await embeddedFont(), shape("rect", { width, height, fill: "white" }));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", `${millimetres}mm`);
  svg.setAttribute("height", `${((height * millimetres) / width).toFixed(2)}mm`);
  const vector = new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
  return format === "svg" ? vector : raster(vector, (millimetres / 25.4) * DPI, height / width);
}

// A style for which Arial is the font in the file, wherever that is opened.
let font = null;
async function embeddedFont() {
  font ??= (await fetch("sans.woff")).blob().then(
    (blob) =>
      new Promise((resolve) => {
        const reader = Object.assign(new FileReader(), { onload: () => resolve(reader.result) });
        reader.readAsDataURL(blob);
      }),
  );
  const style = shape("style", {});
  style.textContent = `@font-face { font-family: Arial; src: url(${await font}) }`;
  return style;
}

// Plotly hands over what it has drawn as a link that it clicks: we catch the click.
async function laidOut(gd, width) {
  const filename = `figure-${performance.now()}`;
  const caught = new Promise((resolve) => {
    const take = (event) => {
      if (event.target.download !== `${filename}.svg`) return;
      event.preventDefault();
      document.removeEventListener("click", take, true);
      resolve(fetch(event.target.href).then((response) => response.text()));
    };
    document.addEventListener("click", take, true);
  });
  gd._context.toImageButtonOptions = { format: "svg", filename, width, height: gd._fullLayout.height, scale: 1 };
  gd._fullLayout._modeBar.buttons.flat().find((b) => b.name === "toImage").click(gd);
  return new DOMParser().parseFromString(await caught, "image/svg+xml").documentElement;
}

// Equal pixels side by side become one rectangle, and equal rows of pixels one row of rectangles.
async function drawCells(image) {
  const picture = new Image();
  picture.src = image.getAttribute("href") ?? image.getAttribute("xlink:href");
  await picture.decode();
  const [w, h] = [picture.naturalWidth, picture.naturalHeight];
  const canvas = Object.assign(document.createElement("canvas"), { width: w, height: h });
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const bytes = context.getImageData(0, 0, w, h).data;
  const pixels = new Uint32Array(bytes.buffer);
  const [x0, y0, wide, high] = ["x", "y", "width", "height"].map((name) => Number(image.getAttribute(name)));
  const cells = [];
  for (let top = 0, bottom; top < h; top = bottom) {
    const row = pixels.subarray(top * w, (top + 1) * w);
    for (bottom = top + 1; bottom < h && row.every((p, x) => p === pixels[bottom * w + x]); ) bottom++;
    for (let left = 0, right; left < w; left = right) {
      for (right = left + 1; right < w && row[right] === row[left]; ) right++;
      const [red, green, blue, alpha] = bytes.subarray(4 * (top * w + left));
      if (alpha) cells.push({ left, top, right, bottom, fill: `rgb(${red},${green},${blue})`, alpha });
    }
    if (cells.length > MOST_CELLS) return;
  }
  const group = shape("g", { "shape-rendering": "crispEdges" });
  for (const { left, top, right, bottom, fill, alpha } of cells) {
    const place = { x: x0 + (left * wide) / w, y: y0 + (top * high) / h };
    const size = { width: ((right - left) * wide) / w, height: ((bottom - top) * high) / h };
    group.append(shape("rect", { ...place, ...size, fill, "fill-opacity": alpha / 255 }));
  }
  image.replaceWith(group);
}

function shape(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

async function raster(vector, width, ratio) {
  const picture = new Image();
  picture.src = URL.createObjectURL(vector);
  await picture.decode();
  URL.revokeObjectURL(picture.src);
  const canvas = Object.assign(document.createElement("canvas"), { width, height: width * ratio });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}
