// Says what is wrong if the UI itself can't be loaded. It is not a module: those are what may be missing.
(() => {
  const PATIENCE_MS = 20_000;
  const fail = () => {
    const text = document.getElementById("boot");
    if (!text) return;
    clearTimeout(timer);
    text.setAttribute("role", "alert");
    text.textContent = "Looptrace couldn't be loaded completely. Check that it is running. ";
    const button = document.createElement("button");
    button.textContent = "Reload the page";
    button.addEventListener("click", () => window.location.reload());
    text.append(button);
  };
  const timer = setTimeout(fail, PATIENCE_MS);
  // A file that is missing: such errors don't bubble.
  window.addEventListener("error", (event) => event.target instanceof HTMLElement && fail(), true);
})();
