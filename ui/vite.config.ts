import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// In development the API is that of a running stack; LOOPTRACE_URL says where.
const api = process.env.LOOPTRACE_URL ?? "http://127.0.0.1:7090";

// The API reference, which the control plane serves, has the UI's fonts by names that do not change.
const namedFonts: Plugin = {
  name: "named-fonts",
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      const name = file.type === "asset" ? file.names[0] : undefined;
      if (file.type === "asset" && name?.endsWith(".woff2")) {
        this.emitFile({ type: "asset", fileName: `fonts/${name}`, source: file.source });
      }
    }
  },
};

/** Writes each text file of the build compressed beside it, for the server to send. Fonts are compressed already. */
function compressed(): Plugin {
  let dist = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved(config) {
      dist = join(config.root, config.build.outDir);
    },
    async closeBundle() {
      const files = await readdir(dist, { recursive: true });
      const texts = files.filter((file) => /\.(js|css|html|svg)$/.test(file)).map((file) => join(dist, file));
      await Promise.all(
        texts.map(async (file) => {
          const text = await readFile(file);
          const quality = { params: { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY } };
          await writeFile(`${file}.br`, await promisify(brotliCompress)(text, quality));
          await writeFile(`${file}.gz`, await promisify(gzip)(text, { level: zlib.Z_BEST_COMPRESSION }));
        }),
      );
    },
  };
}

export default defineConfig({
  plugins: [react(), namedFonts, compressed()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: { proxy: { "/v1": { target: api } } },
  build: {
    target: "es2022",
    // The server's Content-Security-Policy allows files of its own only: nothing may become a data: URI.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules[\\/](react|react-dom|react-router|scheduler)[\\/]/ },
            // Files of a few hundred bytes each would cost more in headers.
            { name: "icons", test: /node_modules[\\/]@tabler[\\/]/, minShareCount: 3 },
            {
              name: "filters",
              test: /src[\\/]components[\\/](filters[\\/](?!Bound)|SearchBox|KindIcon|StatusMark|RowMenu|Highlight|useNow|Ago)/,
            },
            // What most pages use, in few files. The rest comes with the pages and dialogs that need it.
            { name: "vendor", test: /node_modules[\\/]/, minShareCount: 24 },
            { name: "shared", test: /src[\\/](api|components)[\\/]/, minShareCount: 20 },
          ],
        },
      },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
