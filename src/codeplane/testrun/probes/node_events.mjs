// A reporter for node:test: one JSON object per line, as it happens.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const MAX_TEXT = 20000;

// What a file printed before it ended without running its tests: a missing import, a syntax error.
function brokenFile(data, printed) {
  const text = printed.replace(/^Node\.js v.*$/m, "").trim() || String(data.details?.error?.cause ?? "");
  return {
    kind: "case", name: "", outcome: "error", file: data.file, line: lineIn(text, data.file) ?? null,
    text: text.slice(-MAX_TEXT), type: /^(\w*Error)\b/m.exec(text)?.[1] ?? "", seconds: 0,
  };
}

function isFile(data) {
  return Boolean(data.file) && resolve(data.name) === data.file;
}

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
  const printed = new Map();
  for await (const { type, data } of source) {
    if (type === "test:stderr") printed.set(data.file, ((printed.get(data.file) ?? "") + data.message).slice(-MAX_TEXT));
    if (type === "test:start" && data.file) yield JSON.stringify({ kind: "start", file: data.file }) + "\n";
    if (type !== "test:pass" && type !== "test:fail") continue;
    // A group, or a file as a whole, fails with what is in it.
    const inner = data.details?.error?.failureType === "subtestsFailed";
    if (data.details?.type === "suite" && type === "test:pass") continue;
    const broken = type === "test:fail" && isFile(data);
    const told = broken ? brokenFile(data, printed.get(data.file) ?? "") : caseOf(type, data);
    if (!inner) yield JSON.stringify(told) + "\n";
  }
  yield JSON.stringify({ kind: "end" }) + "\n";
}
