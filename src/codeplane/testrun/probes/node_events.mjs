// A reporter for node:test: one JSON object per line, as it happens.
import { pathToFileURL } from "node:url";

const MAX_TEXT = 20000;

function caseOf(type, data) {
  const error = data.details?.error;
  const cause = error?.cause ?? error;
  const bad = type === "test:fail" && !data.todo;
  const text = bad ? String(cause?.stack ?? cause ?? "") : "";
  const outcome = data.skip !== undefined || data.todo !== undefined ? "skipped" : bad ? "failed" : "passed";
  return {
    kind: "case", name: data.name, outcome, file: data.file ?? "", line: lineIn(text, data.file) ?? data.line ?? null,
    text: text.slice(0, MAX_TEXT), type: cause?.name ?? "", seconds: (data.details?.duration_ms ?? 0) / 1000,
  };
}

function lineIn(text, file) {
  for (const name of file ? [file, pathToFileURL(file).href] : []) {
    const at = text.indexOf(name + ":");
    if (at >= 0) return parseInt(text.slice(at + name.length + 1), 10) || undefined;
  }
  return undefined;
}

export default async function* events(source) {
  for await (const { type, data } of source) {
    if (type === "test:start" && data.file) yield JSON.stringify({ kind: "start", file: data.file }) + "\n";
    if (type !== "test:pass" && type !== "test:fail") continue;
    // A group, or a file as a whole, fails with what is in it.
    const inner = data.details?.error?.failureType === "subtestsFailed";
    if (data.details?.type === "suite" && type === "test:pass") continue;
    if (!inner) yield JSON.stringify(caseOf(type, data)) + "\n";
  }
  yield JSON.stringify({ kind: "end" }) + "\n";
}
