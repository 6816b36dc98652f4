// Containers named live-… are status regions, which screen readers read when their content changes. Sections of the
// menu are lists with a name: Streamlit puts them, with their headings, into one list, where only items may stand.
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
  const observer = new MutationObserver(mark);
  observer.observe(document.body, { childList: true, subtree: true });
  mark();
  return () => observer.disconnect();
}
