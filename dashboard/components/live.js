// Containers named live-… are status regions, which screen readers read when their content changes. Sections of the
// menu are lists with a name: Streamlit puts them, with their headings, into one list, where only items may stand.
// Tabs keep the focus: Streamlit disables them for a moment when a page is drawn anew, which takes it from them.
export default function () {
  const mark = () => {
    for (const region of document.querySelectorAll("[class*=st-key-live-]:not([role])")) region.setAttribute("role", "status");
    for (const heading of document.querySelectorAll(":not([role]) > [data-testid=stNavSectionHeader]")) {
      const section = heading.parentElement;
      section.setAttribute("role", "list");
      section.setAttribute("aria-label", heading.querySelector("p").textContent);
      section.parentElement.setAttribute("role", "none");
    }
  };
  const giveBack = ({ target, relatedTarget }) => queueMicrotask(() => {
    if (relatedTarget || !target.matches("[role=tab][aria-disabled=true]")) return;
    const enabled = new MutationObserver(() => {
      if (target.matches("[aria-disabled=true]")) return;
      enabled.disconnect();
      if (document.activeElement === document.body) target.focus();
    });
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
