// What every scenario shares: a Chromium of its own that cannot reach anything but the product, and the watch
// over what a page must never do.
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";

const PATIENCE = 20_000;
const TICK = 50;

/** Where things lie; given by the test that plays the scenario. */
export const env = {
  name: process.env.SCENARIO,
  output: process.env.OUTPUT,
  state: process.env.STATE,
};

const findings = [];

/** Tells of something wrong that need not stop the scenario. */
export function find(where, what) {
  if (!findings.some((known) => known.where === where && known.what === what)) findings.push({ where, what });
}

/**
 * Plays a scenario and prints its result. `play` gets a page, the input and the context; session says whether the
 * page starts logged in, watched whether it is one of ours and kept from reaching anything else; args are Chromium's.
 */
export async function scenario(play, { session = true, watched = true, args = [] } = {}) {
  const input = JSON.parse(process.env.INPUT);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--no-proxy-server",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });
  let page;
  try {
    const context = await browser.newContext({
      baseURL: input.base,
      viewport: { width: 1440, height: 900 },
      reducedMotion: "reduce",
      storageState: session ? env.state : undefined,
    });
    context.setDefaultTimeout(PATIENCE);
    if (watched) await watch(context, input.base);
    page = await context.newPage();
    const result = (await play(page, input, context)) ?? null;
    process.stdout.write(JSON.stringify({ findings, result }));
  } catch (error) {
    await page?.screenshot({ path: `${env.output}/failed-${env.name}.png` }).catch(() => {});
    writeFileSync(`${env.output}/failed-${env.name}.txt`, String(error.stack));
    const place = page ? ` at ${page.url()}` : "";
    process.stderr.write(`${error.stack}${place}\n${JSON.stringify(findings, null, 2)}\n`);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

/** Keeps the pages from reaching anything but the product, and finds what must not happen on any page. */
async function watch(context, base) {
  const origin = new URL(base).origin;
  await context.route(/^/, (route) => {
    const url = new URL(route.request().url());
    if (url.origin === origin || url.protocol === "data:" || url.protocol === "blob:") return route.continue();
    find(route.request().frame().url(), `it asked for ${url.href}`);
    return route.abort();
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => find(page.url(), `an uncaught error: ${error.message}`));
    page.on("dialog", (dialog) => {
      find(page.url(), `a dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    page.on("console", (message) => {
      // A refused request is logged by the browser; a page that handles it has done its part.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        find(page.url(), `the console says: ${message.text()}`);
      }
    });
  });
}

/** Waits for a condition, and returns what it gave. */
export async function until(what, condition) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    let seen;
    try {
      seen = await condition();
      if (seen) return seen;
    } catch (error) {
      seen = error.message;
    }
    if (Date.now() > deadline) throw new Error(`${what}: not within ${PATIENCE / 1000} s, last seen: ${seen}`);
    await pause(TICK);
  }
}

/** Waits until two values are the same by their JSON. */
export async function same(what, want, read) {
  let got;
  await until(what, async () => {
    got = await read();
    return JSON.stringify(got) === JSON.stringify(want);
  }).catch((error) => {
    throw new Error(`${error.message}\n  want ${JSON.stringify(want)}\n  got  ${JSON.stringify(got)}`);
  });
}

/** Fails unless the claim holds now. */
export function check(claim, what) {
  if (!claim) throw new Error(what);
}

/** Fills the login form and sends it. */
export async function logIn(page, email, password) {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}
