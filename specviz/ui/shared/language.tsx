// The language of the lessons and the tour: as the address says (?lang=de), else as chosen during
// this visit, else English. Everything else on the page is in English.

import { writeAddress } from "./address";
import { LANGUAGES } from "./given";
import { session } from "./storage";
import { Shared } from "./store";
import { Button } from "./view";

import type { Words } from "../../texts/languages.py";

const KEY = "lang"; // in the page's address
const KEPT = "sv-lang";
const [ENGLISH] = Object.keys(LANGUAGES);

const known = (code: string | null) =>
  code !== null && Object.hasOwn(LANGUAGES, code) ? code : null;

const linked = known(new URLSearchParams(location.search).get(KEY));

/** Its code, such as "de". */
export const language: Shared<string> = new Shared(linked ?? known(session.get(KEPT)) ?? ENGLISH);
language.on(keep);
keep(language.value);

export const catalogue = () => LANGUAGES[language.value];

/**
 * A text of the catalogue with its numbers.
 * @param numbers By placeholder.
 */
export const phrase = (key: keyof Words, numbers: Record<string, string | number> = {}) =>
  catalogue().words[key].replace(/\{(\w+)\}/g, (_, name) => String(numbers[name]));

// For the visit, and in the address, so that a copied link opens in the same language.
function keep(code: string) {
  session.set(KEPT, code);
  writeAddress({ [KEY]: code === ENGLISH ? null : code });
}

/**
 * The switch between languages; nothing if there is only one language.
 * @param codes The languages of the translations.
 */
export const LanguageSwitch = (codes: string[] = Object.keys(LANGUAGES)) =>
  codes.length > 1 && (
    <div class="sv-languages" lang={language.value}>
      <span role="group" aria-label={phrase("languages")}>
        {codes.map((code, index) => [
          index > 0 && <span aria-hidden="true">·</span>,
          Button(LANGUAGES[code].name, () => language.set(code), {
            lang: code,
            "aria-pressed": code === language.value,
          }),
        ])}
      </span>
    </div>
  );
