// The widget for notebooks: one module in the Python package, `npm run widget`.
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  build: {
    target: "es2022",
    outDir: "../python/weirlab/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    lib: { entry: "src/widget.ts", formats: ["es"], fileName: () => "widget.js" },
    reportCompressedSize: true,
  },
});
