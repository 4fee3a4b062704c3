// Values that Python writes before the script when it is sent; see routes.py.

import type { Given } from "../routes.py";

export const { GLOSSARY, GLYPHS, ICONS, LANGUAGES, LINKS, MARKS, PILL, RISES, STRUCK, TITLES } =
  GIVEN as Given;
