// Answer where the TypeScript language service would write a new name, one JSON line for each on standard input.
//
//   node bench/judges/rename_typescript.mjs <typescript> <repository>
//
// <typescript> is the directory of the npm package `typescript`, version 5. Questions and answers are those of
// rename_python.py. All files of the repository are one program, with the options of its own tsconfig.json and the usual
// ones where that has none.

import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { createRequire } from "node:module";

const [typescriptDir, repositoryArg] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(path.resolve(typescriptDir, "lib/typescript.js"));
const repository = fs.realpathSync(repositoryArg);
const files = ts.sys.readDirectory(repository, [".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs"], ["**/node_modules"]);
const service = ts.createLanguageService({
  getScriptFileNames: () => files,
  getScriptVersion: () => "1",
  getScriptSnapshot: (file) =>
    fs.existsSync(file) ? ts.ScriptSnapshot.fromString(fs.readFileSync(file, "utf8")) : undefined,
  getCurrentDirectory: () => repository,
  getCompilationSettings: () => options,
  getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories,
});
const options = readOptions();

function readOptions() {
  const config = `${repository}/tsconfig.json`;
  const { config: json } = ts.readConfigFile(config, ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(json ?? {}, { ...ts.sys, readDirectory: () => [] }, repository);
  const { ModuleKind, ModuleResolutionKind, ScriptTarget, JsxEmit } = ts;
  const usual = { target: ScriptTarget.ESNext, module: ModuleKind.ESNext, jsx: JsxEmit.Preserve };
  usual.moduleResolution = ModuleResolutionKind.Bundler;
  return { ...usual, ...parsed.options, allowJs: true, noEmit: true, types: [] };
}

function answer({ path: file, line, column }) {
  const full = `${repository}/${file}`;
  const text = service.getProgram().getSourceFile(full);
  if (!text) return { error: "not in the program" };
  // Columns count characters, the compiler counts UTF-16 units.
  const start = text.getPositionOfLineAndCharacter(line - 1, 0);
  const rest = text.text.slice(start);
  const position = start + Array.from(rest.slice(0, 2 * column)).slice(0, column).join("").length;
  const info = service.getRenameInfo(full, position, {});
  if (!info.canRename) return { error: info.localizedErrorMessage };
  const found = service.findRenameLocations(full, position, false, false, { providePrefixAndSuffixTextForRename: true });
  const places = [...(found ?? []), ...throughExports(text, position)];
  return { edits: places.filter((one) => one.fileName.startsWith(`${repository}/`)).map(place) };
}

// Its rename gives a re-export an alias and stops there. The checker goes on: all names of the same spelling and symbol.
function throughExports(text, position) {
  let at = text;
  for (let inner = at; inner; at = inner ?? at) {
    inner = ts.forEachChild(at, (child) => (child.pos <= position && position < child.end ? child : undefined));
  }
  if (ts.isImportSpecifier(at.parent) || ts.isNamespaceImport(at.parent)) return [];
  const checker = service.getProgram().getTypeChecker();
  const target = checker.getSymbolAtLocation(at);
  const found = [];
  const visit = (file) => (node) => {
    if (ts.isIdentifier(node) && node.text === at.text) {
      let symbol = checker.getSymbolAtLocation(node);
      if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
      const start = node.getStart(file);
      if (symbol && symbol === target) found.push({ fileName: file.fileName, textSpan: { start } });
    }
    ts.forEachChild(node, visit(file));
  };
  for (const file of service.getProgram().getSourceFiles()) {
    if (file.fileName.startsWith(`${repository}/`) && file.text.includes(at.text)) visit(file)(file);
  }
  return found;
}

function place({ fileName, textSpan }) {
  const { text } = service.getProgram().getSourceFile(fileName);
  const before = text.slice(0, textSpan.start).split("\n");
  return [path.posix.relative(repository, fileName), before.length, Array.from(before.at(-1)).length];
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  let result;
  try {
    result = answer(JSON.parse(line));
  } catch (error) {
    result = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
});
