// Beside a Plotly chart drawn by Streamlit: downloads (SVG and PNG by paper.js), an outline round the chosen cell,
// and reports of clicked cells or points and zoomed windows.
export default function (component) {
  const { parentElement, setTriggerValue, data } = component;
  const frame = (parentElement.host ?? parentElement).closest(`.st-key-${data.frame}`);
  if (!frame) return () => {}; // its page was left before it was drawn
  const chart = () => frame.querySelector(".js-plotly-plot");
  let hooked = null;
  let timer = null;
  let cell = data.cell;

  const buttons = [...parentElement.querySelectorAll("button")];
  const [size, ...formats] = buttons;
  size.onclick = () => {
    size.value = size.value === "170" ? "85" : "170";
    size.textContent = `${size.value} mm wide`;
  };
  for (const button of formats) {
    button.onclick = async () => {
      if (button.value === "csv") return frame.querySelector(".stDownloadButton button").click();
      const content = URL.createObjectURL(await paper(chart(), button.value, Number(size.value)));
      const download = `${data.name}.${button.value}`;
      Object.assign(document.createElement("a"), { href: content, download }).click();
      URL.revokeObjectURL(content);
      parentElement.querySelector("[role=status]").textContent = `${download} was made.`;
    };
  }
  // One Tab stop for all buttons; arrows lead from one to the next.
  parentElement.querySelector("[role=toolbar]").onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = buttons.indexOf(event.target);
    const next = buttons[(at + step + buttons.length) % buttons.length];
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
    event.preventDefault();
  };

  const outline = () => {
    hooked?.querySelector(".chosen-cell")?.remove();
    const { xaxis, yaxis } = hooked?._fullLayout ?? {};
    const layer = hooked?.querySelector(".layer-above > .shapelayer");
    if (!cell || !xaxis?.l2p || !layer) return;
    const [x0, x1] = [cell[1] - 0.5, cell[1] + 0.5].map((v) => xaxis._offset + xaxis.l2p(v));
    const [y0, y1] = [cell[0] - 0.5, cell[0] + 0.5].map((v) => yaxis._offset + yaxis.l2p(v));
    const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const shape = { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) };
    for (const [name, value] of Object.entries(shape)) box.setAttribute(name, value);
    box.setAttribute("class", "chosen-cell");
    box.setAttribute("style", "fill:none;stroke:#e0601f;stroke-width:3px;pointer-events:none");
    layer.appendChild(box);
  };
  const onClick = (event) => {
    const point = event.points?.[0];
    if (!hooked.data.some((trace) => trace.type === "heatmap")) {
      if (Array.isArray(point?.customdata)) setTriggerValue("place", [point.customdata.at(-1)]);
      return;
    }
    if (!Array.isArray(point?.pointNumber)) return;
    cell = [Math.round(point.y), Math.round(point.x)]; // cells lie at 0, 1, 2, … on both axes
    outline();
    setTriggerValue("place", cell);
  };
  const onZoom = (change) => {
    if (!Object.keys(change).some((name) => /^[xy]axis\.(range|autorange)/.test(name))) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const { xaxis, yaxis } = hooked._fullLayout;
      setTriggerValue("window", { x: xaxis.range, y: yaxis.range });
    }, 150);
  };
  const measure = () => {
    const { xaxis } = hooked?._fullLayout ?? {};
    if (!xaxis?.l2p) return;
    const apart = (from, to) => Math.abs(xaxis.l2p(to) - xaxis.l2p(from)); // in pixels
    const ticks = xaxis.tickmode === "array" && xaxis.type === "linear" ? xaxis.tickvals : [];
    frame.classList.toggle("small-cells", hooked.querySelector(".hm") !== null && apart(0, 1) < 28);
    const every = Math.ceil(8.5 / Math.min(...ticks.slice(1).map((tick, i) => apart(ticks[i], tick))));
    frame.dataset.ticks = every > 4 ? "none" : every; // where names are crowded, every second to fourth is written
  };
  // Where the width keeps a square matrix low, its colour bar is as high: Plotly fits it to the room for both.
  const fitBar = () => {
    const { yaxis } = hooked?._fullLayout ?? {};
    const bar = hooked?.querySelector(".colorbar");
    const fills = bar?.querySelector(".cbfills");
    const { y: first, height: full } = fills?.getBBox() ?? {};
    if (!full || !yaxis?.scaleanchor || yaxis._length >= 0.99 * full) return;
    const part = yaxis._length / full;
    const svg = bar.ownerSVGElement;
    const scaled = (item, y, by, to) => {
      const matrix = svg.createSVGMatrix().translate(0, to).scaleNonUniform(1, by).translate(0, -y);
      item.transform.baseVal.appendItem(svg.createSVGTransformFromMatrix(matrix));
    };
    const down = (item) => item.transform.baseVal.consolidate()?.matrix.f ?? 0;
    scaled(bar, first + down(fills), part, yaxis._offset - down(bar));
    for (const word of bar.querySelectorAll("text")) {
      const { y, height } = word.getBBox();
      scaled(word, y + height / 2, 1 / part, y + height / 2);
    }
  };
  // What is below a square matrix moves up to it where the width keeps it low.
  const closeUp = () => {
    const end = (part) => part.getBoundingClientRect().bottom;
    const drawn = [...hooked.querySelectorAll(".hm, .xaxislayer-above, .infolayer")].map(end);
    const blank = hooked._fullLayout?.yaxis?.scaleanchor ? end(hooked) - Math.max(...drawn) - 8 : 0;
    hooked.closest(".stElementContainer").style.marginBottom = blank > 0 ? `${-Math.round(blank)}px` : "";
  };
  const drawn = () => {
    for (const button of hooked.querySelectorAll(".modebar-btn:not([data-title=Fullscreen])")) button.tabIndex = -1;
    measure();
    fitBar();
    closeUp();
    outline();
  };
  const listeners = { plotly_afterplot: drawn };
  if (data.clicks) listeners.plotly_click = onClick;
  if (data.zooms) listeners.plotly_relayout = onZoom;
  const unhook = () => {
    for (const [name, listener] of Object.entries(listeners)) hooked?.removeListener?.(name, listener);
  };
  const hook = () => {
    const gd = chart();
    if (!gd?.on || gd === hooked) return;
    unhook();
    hooked = gd;
    for (const [name, listener] of Object.entries(listeners)) gd.on(name, listener);
    gd.dataset.listens = "yes"; // tests wait for it
    drawn();
  };

  const observer = new MutationObserver(hook);
  observer.observe(frame, { childList: true, subtree: true });
  hook();
  return () => {
    observer.disconnect();
    clearTimeout(timer);
    unhook();
  };
}
