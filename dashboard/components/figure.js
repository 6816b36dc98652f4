// Beside a Plotly chart drawn by Streamlit: download it as SVG or PNG, report clicked cells and zoomed windows.
export default function (component) {
  const { parentElement, setTriggerValue, data } = component;
  const frame = (parentElement.host ?? parentElement).closest(`.st-key-${data.frame}`);
  const chart = () => frame?.querySelector(".js-plotly-plot");

  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => {
      const gd = chart();
      const format = button.dataset.format;
      gd._context.toImageButtonOptions = { format, filename: data.name, scale: format === "png" ? 2 : 1 };
      gd._fullLayout._modeBar.buttons.flat().find((b) => b.name === "toImage").click(gd);
    };
  }

  let hooked = null;
  let timer = null;
  const onClick = (event) => {
    const point = event.points?.[0];
    const cell = point?.pointNumber ?? point?.pointIndex;
    if (Array.isArray(cell)) setTriggerValue("cell", cell);
  };
  const onZoom = (change) => {
    if (!Object.keys(change).some((k) => /^[xy]axis\.(range|autorange)/.test(k))) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const { xaxis, yaxis } = hooked._fullLayout;
      setTriggerValue("window", { x: xaxis.range, y: yaxis.range });
    }, 150);
  };
  const unhook = () => {
    hooked?.removeListener?.("plotly_click", onClick);
    hooked?.removeListener?.("plotly_relayout", onZoom);
  };
  const hook = () => {
    const gd = chart();
    if (!gd?.on || gd === hooked) return;
    unhook();
    hooked = gd;
    if (data.clicks) gd.on("plotly_click", onClick);
    if (data.zooms) gd.on("plotly_relayout", onZoom);
  };
  if (!data.clicks && !data.zooms) return () => {};
  hook();
  const observer = new MutationObserver(hook);
  observer.observe(frame, { childList: true, subtree: true });
  return () => {
    observer.disconnect();
    clearTimeout(timer);
    unhook();
  };
}
