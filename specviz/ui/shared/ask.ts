// Questions to the server: `ask` sends one; a `Question` belongs to a section, and its newest
// answer is shown.

import { SERVER } from "./server";

import type { Refusal } from "../questions.py";

/** An answer, or why there is none. */
export type Reply<Answer> = (Answer & { problem?: undefined; field?: undefined }) | Refusal;

const ADDRESS = new URL("ask/", SERVER);
const SILENT = "The server does not answer. What is shown may be out of date.";
const SILENCE = 30000; // milliseconds after which no answer is expected any more
// The page's own name, by which the server limits simultaneous questions.
const PAGE = [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join("");

/**
 * Return the answer, or why there is none: `problem` is a sentence. The promise is rejected if the
 * server does not respond.
 */
export async function ask<Answer>(section: string, question: object): Promise<Reply<Answer>> {
  const response = await fetch(new URL(section, ADDRESS), {
    method: "POST",
    headers: { "Content-Type": "application/json", "Specviz-Visitor": PAGE },
    body: JSON.stringify(question),
    signal: AbortSignal.timeout(SILENCE),
  });
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { problem: text.slice(0, 300), field: "" }; // from before the question was read
  }
}

/**
 * A section's question: the newest one is sent once the previous one is answered. A section passes
 * it to the tests, which wait until it is `idle`.
 */
export class Question<Answer> {
  #underWay = false;
  #changed = false; // the values have changed since the last question was sent

  section: string;
  fault: (sentence: string, refusal?: Refusal) => void;
  number: number;
  request: () => object;
  show: (answer: Answer, request: object) => void;

  /**
   * @param section Its name on the server.
   * @param fault Shows why there is no answer; "" if there is one. refusal: the server's, unless it is silent.
   */
  constructor(section: string, fault: (sentence: string, refusal?: Refusal) => void) {
    this.section = section;
    this.fault = fault;
    this.number = 0; // number of questions sent
    this.request = () => ({});
    this.show = () => {};
  }

  /**
   * @param request Returns the current question.
   * @param show Receives an answer and its question.
   */
  wire(request: () => object, show: (answer: Answer, request: object) => void) {
    this.request = request;
    this.show = show;
  }

  get idle() {
    return !this.#underWay && !this.#changed;
  }

  async ask() {
    this.#changed = true;
    if (this.#underWay) return;
    this.#underWay = true;
    try {
      while (this.#changed) await this.#send();
    } finally {
      this.#underWay = false;
    }
  }

  async #send() {
    this.#changed = false;
    this.number += 1;
    const request = this.request();
    let answer: Reply<Answer>;
    try {
      answer = await ask(this.section, request);
    } catch {
      this.fault(SILENT);
      return;
    }
    if (answer.problem !== undefined) return this.fault(answer.problem, answer);
    this.fault("");
    this.show(answer, request);
  }
}
