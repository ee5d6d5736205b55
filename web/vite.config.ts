import { defineConfig, type Plugin } from "vite";
// @ts-expect-error A script without types.
import { licences } from "./scripts/licences.mjs";

/** Nothing but this page's own files, and nothing inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

function policy(): Plugin {
  return {
    name: "weir-policy",
    apply: "build",
    transformIndexHtml: () => [
      {
        tag: "meta",
        attrs: { "http-equiv": "Content-Security-Policy", content: POLICY },
        injectTo: "head-prepend",
      },
    ],
  };
}

export default defineConfig({
  // The site works from any folder of a server.
  base: "./",
  plugins: [policy(), licences()],
  worker: { format: "es" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    reportCompressedSize: true,
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node", testTimeout: 300_000 },
} as Parameters<typeof defineConfig>[0]);
