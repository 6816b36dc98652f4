// Containers named live-… are status regions, which screen readers read when their content changes.
export default function () {
  const mark = () => {
    for (const region of document.querySelectorAll("[class*=st-key-live-]:not([role])")) region.setAttribute("role", "status");
  };
  const observer = new MutationObserver(mark);
  observer.observe(document.body, { childList: true, subtree: true });
  mark();
  return () => observer.disconnect();
}
