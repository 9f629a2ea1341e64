// Shared by all scenarios: starts a Chromium that can only reach the product, and reports what a page must never do.
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";

const TIMEOUT = 60_000; // a machine may be busy
const TICK = 50;

/** Where the UI keeps the secret of its session, and the header in which it sends it. */
const STORAGE_KEY = "looptrace.session";
export const SECRET_HEADER = "Looptrace-Session-Secret";

/** Names and paths from the test that runs the scenario. */
export const env = {
  name: process.env.SCENARIO,
  output: process.env.OUTPUT,
  /** What the session of `input.cookie` is bound to. */
  secret: process.env.SESSION_OF_BROWSER,
};

const findings = [];

/** Reports a problem without stopping the scenario. */
export function report(where, what) {
  if (!findings.some((known) => known.where === where && known.what === what)) findings.push({ where, what });
}

/**
 * Runs a scenario and prints its result. `play` gets a page, the input and the context. With `input.cookie` the page starts
 * logged in. `watched`: the page may only reach the product. `args` are for Chromium.
 */
export async function scenario(play, { watched = true, args = [] } = {}) {
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
    const context = await openContext(browser, input);
    if (watched) await watch(context, input.base);
    page = await context.newPage();
    const result = (await play(page, input, context)) ?? null;
    process.stdout.write(JSON.stringify({ findings, result }));
  } catch (error) {
    await page?.screenshot({ path: `${env.output}/failed-${env.name}.png` }).catch(() => {});
    writeFileSync(`${env.output}/failed-${env.name}.txt`, String(error.stack));
    const location = page ? ` at ${page.url()}` : "";
    process.stderr.write(`${error.stack}${location}\n${JSON.stringify(findings, null, 2)}\n`);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

/** Opens a window of its own, logged in with `cookie`. */
export async function openContext(browser, { base, cookie }) {
  const context = await browser.newContext({
    baseURL: base,
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    ...(cookie && { storageState: sessionOf(base, cookie) }),
  });
  context.setDefaultTimeout(TIMEOUT);
  return context;
}

/** What a browser that is logged in with `cookie` has stored. */
export function sessionOf(base, cookie) {
  const { origin, hostname } = new URL(base);
  const [name, value] = cookie.split("=");
  const held = { name, value, domain: hostname, path: "/", expires: -1, httpOnly: true, secure: false, sameSite: "Lax" };
  return { cookies: [held], origins: [{ origin, localStorage: [{ name: STORAGE_KEY, value: env.secret }] }] };
}

/** The headers of requests that a scenario sends in the session of a page, beside its cookie. */
export async function sessionHeaders(page) {
  return { [SECRET_HEADER]: await page.evaluate((key) => localStorage.getItem(key), STORAGE_KEY) };
}

/** Blocks requests to anything but the product, and reports what must not happen on any page. */
export async function watch(context, base) {
  const origin = new URL(base).origin;
  await context.route(/^/, (route) => {
    const url = new URL(route.request().url());
    if (url.origin === origin || url.protocol === "data:" || url.protocol === "blob:") return route.continue();
    report(route.request().frame().url(), `it requested ${url.href}`);
    return route.abort();
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => report(page.url(), `an uncaught error: ${error.message}`));
    page.on("dialog", (dialog) => {
      report(page.url(), `a dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    page.on("console", (message) => {
      // The browser logs every failed request, even if the page handles it.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        report(page.url(), `console error: ${message.text()}`);
      }
    });
  });
}

/** Waits until a condition is true, and returns its value. */
export async function until(what, condition) {
  const deadline = Date.now() + TIMEOUT;
  for (;;) {
    let seen;
    try {
      seen = await condition();
      if (seen) return seen;
    } catch (error) {
      seen = error.message;
    }
    if (Date.now() > deadline) throw new Error(`${what}: not within ${TIMEOUT / 1000} s, last seen: ${seen}`);
    await pause(TICK);
  }
}

/** Presses "Retry", unless the page has asked again by itself. */
export const retry = (page) =>
  page.evaluate(() => [...document.querySelectorAll("button")].find((button) => button.textContent === "Retry")?.click());

/** Waits until a value equals `want`, compared as JSON. */
export async function same(what, want, read) {
  let got;
  await until(what, async () => {
    got = await read();
    return JSON.stringify(got) === JSON.stringify(want);
  }).catch((error) => {
    throw new Error(`${error.message}\n  want ${JSON.stringify(want)}\n  got  ${JSON.stringify(got)}`);
  });
}

/** Fails unless the claim is true now. */
export function check(claim, what) {
  if (!claim) throw new Error(what);
}

/** Fills in and submits the login form. */
export async function logIn(page, email, password) {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}
