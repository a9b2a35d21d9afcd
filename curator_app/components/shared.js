// Part of every component: take the height that is left of the window below what stands above.
const BELOW_PX = 16;

/** `aboveOf` may return how much of the window is not for this component; otherwise its place on the page says so. */
function fillWindow(root, minimum, aboveOf = () => null) {
  const page = document.querySelector("[data-testid=stMain]") ?? document.documentElement;
  const content = document.querySelector("[data-testid=stMainBlockContainer]") ?? document.body;
  const fit = () => {
    if (document.fullscreenElement || !root.isConnected) return;
    const above = aboveOf() ?? root.getBoundingClientRect().top + page.scrollTop + BELOW_PX;
    const height = `${Math.max(minimum, Math.floor(window.innerHeight - above))}px`;
    if (root.style.height !== height) root.style.height = height;
  };
  const observer = new ResizeObserver(fit);
  observer.observe(content);
  window.addEventListener("resize", fit);
  requestAnimationFrame(fit);
  return () => {
    observer.disconnect();
    window.removeEventListener("resize", fit);
  };
}

