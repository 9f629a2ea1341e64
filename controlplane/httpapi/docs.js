// The colour scheme that the reader chose in the UI, before the first paint, and a button beside each command that copies it.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("mantine-color-scheme-value");
  } catch {
    // Storage may be closed to us: the system's scheme stands.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.scheme = chosen;

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyBySelection(text); // an insecure origin has no clipboard
    }
  }

  function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "copied";
    document.body.append(area);
    area.select();
    try {
      return document.execCommand("copy");
    } finally {
      area.remove();
    }
  }

  function addButton(block) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${block.getAttribute("aria-label")}`);
    button.addEventListener("click", async () => {
      button.textContent = (await copy(block.textContent)) ? "Copied" : "Select and copy it";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 2000);
    });
    const frame = document.createElement("div");
    frame.className = "command";
    block.replaceWith(frame);
    frame.append(block, button);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("pre").forEach(addButton);
    // On a narrow screen the contents would hide the page.
    const contents = document.querySelector("nav details");
    const narrow = matchMedia("(max-width: 50rem)");
    const fit = () => {
      contents.open = !narrow.matches;
      // What was asked for has moved.
      if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
    };
    fit();
    narrow.addEventListener("change", fit);
    addEventListener("hashchange", fit);
  });
})();
