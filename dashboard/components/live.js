// Containers named live-… are status regions, which screen readers read when their content changes.
// Tabs keep the focus: Streamlit disables them for a moment when a page is drawn anew, which takes it from them;
// arrows that are pressed meanwhile count once they have it again.
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
  const giveBack = ({ target, relatedTarget }) => queueMicrotask(() => {
    if (relatedTarget || !target.matches("[role=tab][aria-disabled=true]")) return;
    const pressed = []; // meanwhile, which nobody else hears
    const hear = (press) => {
      if (target.isConnected && document.activeElement === document.body && press.key.startsWith("Arrow")) {
        press.preventDefault();
        pressed.push(press.key);
      }
    };
    const enabled = new MutationObserver(async () => {
      if (target.matches("[aria-disabled=true]")) return;
      enabled.disconnect();
      document.removeEventListener("keydown", hear);
      if (document.activeElement !== document.body) return;
      target.focus();
      for (const key of pressed) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        await new Promise(requestAnimationFrame); // the next tab has the focus
      }
    });
    document.addEventListener("keydown", hear);
    enabled.observe(target, { attributeFilter: ["aria-disabled"] });
  });
  const observer = new MutationObserver(mark);
  observer.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("focusout", giveBack);
  mark();
  return () => {
    observer.disconnect();
    document.removeEventListener("focusout", giveBack);
  };
}
