// Sets the colour scheme before the first paint; the Content-Security-Policy allows no inline script.
(() => {
  let stored = null;
  try {
    stored = localStorage.getItem("mantine-color-scheme-value");
  } catch {
    // Storage may be closed to us: the system's scheme stands.
  }
  const dark =
    stored === "dark" || (stored !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
