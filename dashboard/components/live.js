// Containers named live-… are status regions, read when their content changes; refusals and warnings are alerts.
if (!window.crowdcoreLive) {
  const roles = {
    status: "[class*=st-key-live-]:not([role])",
    alert: ".stAlert:not([role]):has([data-testid=stAlertContentError], [data-testid=stAlertContentWarning])",
  };
  const mark = () => {
    for (const [role, which] of Object.entries(roles))
      for (const element of document.querySelectorAll(which)) element.setAttribute("role", role);
  };
  window.crowdcoreLive = new MutationObserver(mark);
  window.crowdcoreLive.observe(document.body, { childList: true, subtree: true });
  mark();
}
