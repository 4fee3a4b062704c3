// Write TypeScript declarations of the JSON schemas that stdin has by the names of the files.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { json } from "node:stream/consumers";
import { compile } from "json-schema-to-typescript";

// Members of a union lack the other members' fields, so that reading one tells them apart.
const bannerComment = `type Keys<T> = T extends object ? keyof T : never;
type Apart<T, K extends PropertyKey = Keys<T>> = T extends object
  ? T & { [key in Exclude<K, keyof T>]?: undefined } : T;`;
const UNION = /\(((?:\w+ \| )*[A-Z]\w*(?: \| \w+)* \| [A-Z]\w*(?: \| \w+)*)\)/g;
const options = { additionalProperties: false, bannerComment, format: false };

for (const [file, schema] of Object.entries(await json(process.stdin))) {
  mkdirSync(dirname(file), { recursive: true });
  const text = await compile(schema, "", { ...options, unreachableDefinitions: true });
  writeFileSync(file, text.replace(UNION, "Apart<$1>"));
}
