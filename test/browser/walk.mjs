// Opens every route of the UI, with its tabs, menus, lists of choices and dialogs, and examines each. Returns the routes, as the router writes
// them. Before the setup, that is only the page for it.
import { examine, settle, track } from "./examine.mjs";
import { placesBeforeSetup, placesInside, placesOutside } from "./places.mjs";
import { openContext, report, scenario, watch } from "./scenario.mjs";

/** What was examined, by the route and what opened it: the tabs of a page have the same menus. */
const known = new Set();
/** Windows that are walked at once: the machines of CI have two cores. */
const WALKERS = 2;

await scenario(async (page, input, context) => {
  const inside = input.projectId ? await placesInside(page, input) : [];
  const outside = input.projectId ? await placesOutside(page, input) : placesBeforeSetup;
  // Not tabs of one window: those lose the focus and the pointer to each other.
  const walkIn = async (cookie, places) => {
    const window = await openContext(context.browser(), { base: input.base, cookie });
    await watch(window, input.base);
    await walk(await window.newPage(), places);
    await window.close();
  };
  await walkIn(undefined, outside.values());
  const rest = inside.values();
  await Promise.all(Array.from({ length: WALKERS }, () => walkIn(input.cookie, rest)));
  return [...new Set([...inside, ...outside].flatMap(({ route }) => route ?? []))];
});

/** Visits places until there are no more. Walkers share the places. */
async function walk(page, places) {
  track(page);
  for (const place of places) {
    const was = [];
    await visit(page, place, was).catch((error) =>
      report([place.name, ...was].join(", "), `it can't be walked: ${error.message.split("\n").slice(0, 4).join("; ")}`),
    );
  }
}

async function open(page, { at, shows, then }) {
  // A change of the fragment alone would not load the page again.
  if (at.includes("#")) await page.goto("about:blank");
  await page.goto(at);
  if (shows) await page.getByTestId(shows).first().waitFor();
  await settle(page);
  await then?.(page);
  await settle(page);
}

function isNew(...parts) {
  const key = parts.join(" › ");
  return known.size < known.add(key).size;
}

/** `was` gets what is being opened. */
async function visit(page, place, was) {
  await open(page, place);
  if (place.isRedirect) return;
  await examine(page, place.name, place.part && page.locator(place.part), "dialog");
  if (place.part || place.isCovered) return;
  const address = page.url();
  const back = async () => page.url() === address || open(page, place);

  // Menus, lists of choices and popovers, by the buttons and fields that say that they open one.
  for (const { selector, name, kind, isInFrame } of await openersOf(page)) {
    if (!isNew(isInFrame ? "frame" : place.route, name)) continue;
    was.splice(0, was.length, name);
    const opener = page.locator(selector);
    const where = `${place.name}, ${name}`;
    const popup = await openPopup(page, opener, kind);
    if (!popup) {
      // A field for any text has a list only if there are proposals.
      if (kind !== "listbox") report(where, `it has aria-haspopup=${kind}, and opens none`);
      continue;
    }
    const text = await popup.innerText();
    const isFirst = isNew(name, text);
    if (isNew(await makeOf(popup))) await examine(page, where, popup, kind === "dialog" ? "popover" : kind);
    await page.keyboard.press("Escape");
    await popup.waitFor({ state: "hidden" });
    if (!(await hasFocus(opener))) report(where, "the focus doesn't return to what opened it");
    if (kind === "menu" && isFirst) {
      for (const item of text.split("\n").filter((line) => line.endsWith("…"))) {
        was.splice(1, 1, item);
        // The page may have been opened again.
        const button = page.locator((await openersOf(page)).find((other) => other.name === name).selector);
        const element = await button.elementHandle();
        const entry = (await openPopup(page, button, kind)).getByRole("menuitem").filter({ hasText: item }).first();
        if (await entry.isDisabled()) {
          await page.keyboard.press("Escape");
          continue;
        }
        await entry.click();
        await examineDialog(page, `${where}, ${item}`, element);
        await back();
      }
    }
  }

  // Dialogs, by the buttons whose label ends with an ellipsis, and by those that the place names.
  const labels = await page
    .locator("main button:visible:enabled")
    .evaluateAll((all) => [...new Set(all.map((button) => button.innerText.trim()))].filter((text) => text.endsWith("…")));
  for (const label of [...labels, ...(place.dialogs ?? [])]) {
    if (!isNew(place.route, label)) continue;
    was.splice(0, was.length, label);
    const opener = page.locator("main button:visible:enabled", { hasText: label }).first();
    const element = await opener.elementHandle();
    await opener.click();
    await examineDialog(page, `${place.name}, ${label}`, element);
    await back();
  }
}

/** Buttons and fields that open something: of those that differ only in the row that they are for, the first. */
function openersOf(page) {
  return page.locator("[aria-haspopup]:not([aria-haspopup=false])").evaluateAll((all) => {
    const found = new Map();
    for (const element of all) {
      if (element.getClientRects().length === 0 || element.disabled) continue;
      const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.innerText ?? element.innerText ?? "";
      const name = label.trim().split("\n")[0].replace(/^(Actions for|Where|Type of) .*/, "$1").replace(/\d+/g, "#");
      if (found.has(name)) continue;
      element.dataset.opener = String(found.size);
      found.set(name, {
        selector: `[data-opener="${found.size}"]`,
        name,
        kind: element.getAttribute("aria-haspopup"),
        isInFrame: !element.closest("main"),
      });
    }
    return [...found.values()];
  });
}

/** What elements a popup is made of. Lists of the same make differ only in their texts. */
function makeOf(popup) {
  return popup.evaluate((element) => {
    const makes = [element, ...element.querySelectorAll("*")].map((one) =>
      [one.tagName, one.className.baseVal ?? one.className, one.getAttribute("role"), ...one.getAttributeNames().sort()].join(" "),
    );
    return [...new Set(makes)].sort().join("\n");
  });
}

/** What a click on an opener opens, or null. */
async function openPopup(page, opener, kind) {
  await opener.click();
  const popup = page.locator(`[role=${kind === "true" ? "menu" : kind}]:visible`).last();
  const isOpen = await popup.waitFor({ timeout: 3_000 }).then(() => true, () => false);
  if (isOpen) await settle(page);
  return isOpen ? popup : null;
}

/** Examines the dialog that was opened, and closes it with Escape. The button may have led to another page instead. */
async function examineDialog(page, where, opener) {
  const shown = page.locator("[role=dialog]:visible").last();
  const address = page.url();
  await Promise.any([shown.waitFor(), page.waitForURL((url) => url.href !== address)]);
  if (page.url() !== address) return;
  await settle(page);
  if (!(await shown.evaluate((element) => element.contains(document.activeElement)))) report(where, "the focus is not in the dialog");
  await examine(page, where, shown, "dialog");
  await page.keyboard.press("Escape");
  // A list of proposals of the first field closes before its dialog.
  if (await shown.isVisible()) await page.keyboard.press("Escape");
  await shown.waitFor({ state: "hidden" });
  // A width at which it was examined may have replaced it.
  const isThere = await opener.evaluate((element) => element.isConnected);
  if (isThere && !(await hasFocus(opener))) report(where, "the focus doesn't return to what opened the dialog");
}

async function hasFocus(opener) {
  for (let tries = 0; tries < 20; tries++) {
    if (await opener.evaluate((element) => element.contains(document.activeElement)).catch(() => false)) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
