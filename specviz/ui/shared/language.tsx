// The language of the lessons and the tour: as the address says (?lang=de), else as chosen during
// this visit, else English. Everything else on the page is in English.

import { LANGUAGES } from "./given";
import { store, stored } from "./page";
import { Button } from "./view";

import type { Words } from "../../texts/languages.py";

const KEY = "lang"; // in the page's address
const KEPT = "sv-lang";
const [ENGLISH] = Object.keys(LANGUAGES);

const known = (code: string | null) =>
  code !== null && Object.hasOwn(LANGUAGES, code) ? code : null;

const linked = known(new URLSearchParams(location.search).get(KEY));
let current = linked ?? known(stored(KEPT)) ?? ENGLISH;
keep();

/** Its code, such as "de". */
export const language = () => current;

export const catalogue = () => LANGUAGES[current];

/**
 * A text of the catalogue with its numbers.
 * @param numbers By placeholder.
 */
export const phrase = (key: keyof Words, numbers: Record<string, string | number> = {}) =>
  catalogue().words[key].replace(/\{(\w+)\}/g, (_, name) => String(numbers[name]));

function choose(code: string) {
  current = code;
  keep();
  window.dispatchEvent(new Event("sv-language"));
}

// For the visit, and in the address, so that a copied link opens in the same language.
function keep() {
  store(KEPT, current);
  const url = new URL(location.href);
  if (current === ENGLISH) url.searchParams.delete(KEY);
  else url.searchParams.set(KEY, current);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

/**
 * The switch between languages; nothing if there is only one language.
 * @param codes The languages of the translations.
 */
export const LanguageSwitch = (codes: string[] = Object.keys(LANGUAGES)) =>
  codes.length > 1 && (
    <div class="sv-languages" lang={current}>
      <span role="group" aria-label={phrase("languages")}>
        {codes.map((code, index) => [
          index > 0 && <span aria-hidden="true">·</span>,
          Button(LANGUAGES[code].name, () => choose(code), {
            lang: code,
            "aria-pressed": code === current,
          }),
        ])}
      </span>
    </div>
  );
