// Draws every figure from the data beside it, one after another so that the page stays responsive.
const waiting = [...document.querySelectorAll(".plot")];
function next() {
  const place = waiting.shift();
  if (!place) return document.body.setAttribute("data-drawn", "yes");
  const { data, layout } = JSON.parse(document.getElementById(place.dataset.from).textContent);
  const shown = Plotly.newPlot(place, data, { ...layout, autosize: true }, { responsive: true, displaylogo: false });
  shown.finally(() => setTimeout(next));
}
next();
