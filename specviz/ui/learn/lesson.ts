// A lesson, which the server sends when it is opened.

import { SERVER } from "../shared/server";

import type { Lesson } from "./lessons.py";

/** Return the lesson, in English if it is not translated, or why there is none. */
export async function fetchLesson(
  name: string,
  lang: string,
): Promise<(Lesson & { problem?: undefined }) | { problem: string }> {
  const address = new URL("lesson?" + new URLSearchParams({ name, lang }), SERVER);
  return (await fetch(address, { signal: AbortSignal.timeout(30000) })).json();
}
