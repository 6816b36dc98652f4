// Containers named live-… are status regions, which screen readers read when their content changes.
// An act of the user is one step of the browser's history: what a page adds to its own address without one, as when a
// link has just opened it, replaces that step, or the back button would lead to the same page again.
let acted = false;
for (const kind of ["pointerdown", "keydown", "popstate"])
  addEventListener(kind, ({ type }) => (acted = type !== "popstate"), { capture: true });
history.pushState = (state, title, address) => {
  const adds = !acted && new URL(address, location.href).pathname === location.pathname;
  acted = false;
  History.prototype[adds ? "replaceState" : "pushState"].call(history, state, title, address);
};
export default function () {
  const mark = () => {
    for (const region of document.querySelectorAll("[class*=st-key-live-]:not([role])")) region.setAttribute("role", "status");
    for (const [place, name] of [["menu", "Menu"], ["modes", "Views"]])
      for (const links of document.querySelectorAll(`.st-key-${place}:not([role])`)) {
        links.setAttribute("role", "navigation");
        links.setAttribute("aria-label", name);
      }
  };
  const observer = new MutationObserver(mark);
  const chosen = ({ target }) => { // a menu that covers a phone gives way to what was chosen
    if (target.closest(".st-key-menu a") && matchMedia("(max-width: 768px)").matches)
      document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
  };
  document.addEventListener("click", chosen);
  observer.observe(document.body, { childList: true, subtree: true });
  mark();
  return () => {
    observer.disconnect();
    document.removeEventListener("click", chosen);
  };
}
