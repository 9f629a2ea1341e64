// Visits each page of the navigation, each time in an empty browser: no request is sent twice, and the list of runs is small.
import { check, report, scenario, sessionOf } from "./scenario.mjs";

/** What the first visit of the list may take over the wire, in bytes. */
const COLD_BYTES = 350_000;

/** What a page asks again and again, by the end of its address. */
const POLLS = { "/start": /\/v1\/runs\?/ };

await scenario(async (page, { base, projectId, cookie }, context) => {
  await page.goto(`/p/${projectId}/runs`);
  const links = page.getByRole("navigation").first().getByRole("link");
  await links.first().waitFor();
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  check(paths.length > 15, `all pages are in the navigation: ${paths}`);

  const visit = async (path) => {
    const cold = await context.browser().newContext({
      baseURL: base,
      viewport: { width: 1440, height: 900 },
      storageState: sessionOf(base, cookie),
    });
    const visited = await cold.newPage();
    const network = await cold.newCDPSession(visited);
    await network.send("Network.enable");
    const asked = new Map();
    let bytes = 0;
    network.on("Network.requestWillBeSent", ({ request }) => {
      if (request.method === "GET") asked.set(request.url, (asked.get(request.url) ?? 0) + 1);
    });
    network.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await visited.goto(path);
    await visited.getByRole("heading", { level: 1 }).waitFor();
    if (path.endsWith("/runs")) {
      await visited.getByTestId("run-row").first().waitFor();
      await visited.getByTestId("histogram").locator("canvas").waitFor();
    }
    await settled(asked);
    for (const [url, times] of asked) {
      const polls = Object.entries(POLLS).find(([page]) => path.endsWith(page))?.[1];
      if (times > 1 && !polls?.test(url)) report(path, `it requested ${url.replace(base, "")} ${times} times`);
    }
    await cold.close();
    return bytes;
  };
  for (const path of paths) {
    const bytes = await visit(path);
    if (path.endsWith("/runs")) check(bytes < COLD_BYTES, `the list takes ${bytes} bytes, more than ${COLD_BYTES}`);
  }
});

/** Waits until a page has sent no request for a second. */
async function settled(asked) {
  for (let before = -1; before !== asked.size; ) {
    before = asked.size;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
