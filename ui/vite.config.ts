import { fileURLToPath } from "node:url";
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

export default defineConfig({
  plugins: [react(), namedFonts],
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
            { name: "vendor", test: /node_modules[\\/](@mantine|@floating-ui|@tanstack)[\\/]/ },
          ],
        },
      },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
