// Judge what identifiers mean, by the TypeScript compiler: an opinion that is independent of CodePlane.
//
//   node bench/judge_typescript.mjs <typescript> <repository> <out.jsonl> [--all]
//
// <typescript> is the directory of the npm package `typescript` (version 5 or 6: later ones have no such interface), or
// its `lib`. Nothing is installed or built: what the repository does not hold itself stays unresolved.
//
// Each line is {path, start, name, defs, via, kind, own}. `start` is a byte offset. `defs` are the declarations inside
// the repository that the name finally means, each {path, start} with the offset of the declared name (`module: true`
// for a whole file); lines without any are written only with `--all`. `via` are the local declarations on the way: the import or export specifiers. `kind` is
// "attribute" for what stands behind a dot or is a key, "name" otherwise. `own` says that the identifier is itself the
// name of one of the declarations.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const [typescriptDir, repositoryArg, outPath, flag] = process.argv.slice(2);
if (!outPath) {
  console.error("usage: node judge_typescript.mjs <typescript> <repository> <out.jsonl> [--all]");
  process.exit(2);
}
const ts = loadTypeScript(typescriptDir);
const repository = fs.realpathSync(repositoryArg).replaceAll("\\", "/");

const SUFFIX = /\.(?:[cm]?[jt]s|[jt]sx)$/;
const SKIPPED = new Set(["node_modules", ".git", ".yarn"]);

main();

function loadTypeScript(directory) {
  const require = createRequire(import.meta.url);
  for (const candidate of ["lib/typescript.js", "typescript.js"]) {
    const file = path.resolve(directory, candidate);
    if (fs.existsSync(file)) return require(file);
  }
  throw new Error(`no typescript.js in ${directory}: version 5 or 6 of the package is needed`);
}

function main() {
  const groups = groupByConfig(listFiles(repository));
  const out = fs.openSync(outPath, "w");
  let nLines = 0;
  for (const [config, files] of groups) nLines += judgeGroup(config, files, out);
  fs.closeSync(out);
  console.error(`${groups.size} programs, ${nLines} identifiers`);
}

function listFiles(root) {
  const found = [];
  const waiting = [root];
  while (waiting.length > 0) {
    const directory = waiting.pop();
    for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
      const full = `${directory}/${entry.name}`;
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) waiting.push(full);
      else if (entry.isFile() && SUFFIX.test(entry.name)) found.push(full);
    }
  }
  return found.sort();
}

// Files are judged together with those that share their nearest tsconfig.json; "" stands for none.
function groupByConfig(files) {
  const groups = new Map();
  const nearest = new Map();
  for (const file of files) {
    const config = nearestConfig(path.posix.dirname(file), nearest);
    if (!groups.has(config)) groups.set(config, []);
    groups.get(config).push(file);
  }
  return groups;
}

function nearestConfig(directory, known) {
  if (known.has(directory)) return known.get(directory);
  let found = "";
  for (const name of ["tsconfig.json", "jsconfig.json"]) {
    if (!found && fs.existsSync(`${directory}/${name}`)) found = `${directory}/${name}`;
  }
  if (!found && directory !== repository) found = nearestConfig(path.posix.dirname(directory), known);
  known.set(directory, found);
  return found;
}

function optionsOf(config) {
  const own = {
    allowJs: true,
    checkJs: false,
    noEmit: true,
    skipLibCheck: true,
    maxNodeModuleJsDepth: 0,
    types: [],
    incremental: false,
    composite: false,
    rootDir: undefined,
  };
  if (!config) {
    const { ESNext } = ts.ScriptTarget;
    return {
      target: ESNext,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      jsx: ts.JsxEmit.Preserve,
      ...own,
    };
  }
  const { config: json } = ts.readConfigFile(config, ts.sys.readFile);
  const host = { ...ts.sys, readDirectory: () => [] };
  const parsed = ts.parseJsonConfigFileContent(json ?? {}, host, path.posix.dirname(config), undefined, config);
  const jsx = parsed.options.jsx ?? ts.JsxEmit.Preserve;
  return { target: ts.ScriptTarget.ESNext, ...parsed.options, ...own, jsx };
}

function judgeGroup(config, files, out) {
  const program = ts.createProgram(files, optionsOf(config));
  const checker = program.getTypeChecker();
  const offsets = new Map();
  const byteOffset = (sourceFile, position) => {
    if (!offsets.has(sourceFile)) offsets.set(sourceFile, byteTable(sourceFile.text));
    const table = offsets.get(sourceFile);
    return table === null ? position : table[position];
  };
  let nLines = 0;
  for (const file of files) {
    const sourceFile = program.getSourceFile(file);
    if (!sourceFile) continue;
    const lines = [];
    for (const node of identifiersOf(sourceFile)) {
      const line = judgeIdentifier(node, sourceFile, checker, byteOffset);
      if (line) lines.push(JSON.stringify(line));
    }
    if (lines.length > 0) fs.writeSync(out, `${lines.join("\n")}\n`);
    nLines += lines.length;
  }
  return nLines;
}

// Offsets in the compiler count UTF-16 units and leave out a byte order mark.
function byteTable(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return null;
  const table = new Uint32Array(text.length + 1);
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    table[i] = bytes;
    const code = text.charCodeAt(i);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (code >= 0xd800 && code <= 0xdfff) bytes += 2;
    else bytes += 3;
  }
  table[text.length] = bytes;
  return table;
}

function identifiersOf(sourceFile) {
  const found = [];
  const waiting = [sourceFile];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) found.push(node);
    const children = [];
    ts.forEachChild(node, (child) => {
      children.push(child);
    });
    for (let i = children.length - 1; i >= 0; i--) waiting.push(children[i]);
  }
  return found;
}

function judgeIdentifier(node, sourceFile, checker, byteOffset) {
  const start = node.getStart(sourceFile);
  if (start >= node.end) return undefined;
  let symbol = symbolOf(node, checker);
  if (!symbol) return undefined;
  const via = [];
  const seen = new Set();
  while (symbol.flags & ts.SymbolFlags.Alias && !seen.has(symbol)) {
    seen.add(symbol);
    via.push(...placesOf(symbol, byteOffset));
    const next = aliasedBy(symbol, checker);
    if (!next) break;
    symbol = next;
  }
  const isOpen = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  const defs = isOpen ? [] : [symbol, ...throughExports(symbol, checker)].flatMap((one) => placesOf(one, byteOffset));
  if (defs.length === 0 && (flag !== "--all" || via.length === 0)) return undefined;
  const here = { path: relative(sourceFile.fileName), start: byteOffset(sourceFile, start) };
  return {
    ...here,
    name: node.text,
    defs,
    via,
    kind: isAttribute(node) ? "attribute" : "name",
    own: defs.some((one) => one.path === here.path && one.start === here.start),
  };
}

// One step is taken at a time, so that the specifiers on the way are seen; some aliases only know the end of the way.
function aliasedBy(symbol, checker) {
  try {
    return checker.getImmediateAliasedSymbol(symbol);
  } catch {
    return checker.getAliasedSymbol(symbol);
  }
}

// `exports.a = b` and `module.exports = { b }` only give another name to b: what b means is listed as well.
function throughExports(symbol, checker) {
  const found = [];
  for (const declaration of symbol.declarations ?? []) {
    let value;
    const outer = declaration.parent;
    if (ts.isShorthandPropertyAssignment(declaration) && isExports(outer.parent?.left)) {
      value = checker.getShorthandAssignmentValueSymbol(declaration);
    } else if (ts.isPropertyAssignment(declaration) && isExports(outer.parent?.left)) {
      value = ts.isIdentifier(declaration.initializer) && checker.getSymbolAtLocation(declaration.initializer);
    } else if (ts.isPropertyAccessExpression(declaration) && isExports(declaration.expression)) {
      let right = outer.right;
      while (right && ts.isBinaryExpression(right)) right = right.right;
      value = right && ts.isIdentifier(right) && checker.getSymbolAtLocation(right);
    }
    if (!value) continue;
    found.push(value);
    if (value.flags & ts.SymbolFlags.Alias) found.push(checker.getAliasedSymbol(value));
  }
  return found;
}

function isExports(node) {
  if (!node) return false;
  const text = node.getText();
  return text === "exports" || text === "module.exports";
}

function symbolOf(node, checker) {
  const parent = node.parent;
  // In `{ a }` the name is that of a variable; the property of the same name is made by it.
  if (ts.isShorthandPropertyAssignment(parent) && parent.name === node) {
    return checker.getShorthandAssignmentValueSymbol(parent);
  }
  if (ts.isExportSpecifier(parent) && !parent.parent.parent.moduleSpecifier) {
    return checker.getExportSpecifierLocalTargetSymbol(parent) ?? checker.getSymbolAtLocation(node);
  }
  return checker.getSymbolAtLocation(node);
}

function placesOf(symbol, byteOffset) {
  const found = [];
  for (const declaration of symbol.declarations ?? []) {
    const sourceFile = declaration.getSourceFile();
    const file = relative(sourceFile.fileName);
    if (file === undefined) continue;
    if (ts.isSourceFile(declaration)) {
      found.push({ path: file, start: 0, module: true });
      continue;
    }
    const name = nameOf(declaration);
    const start = name.getStart(sourceFile) + (ts.isStringLiteralLike(name) ? 1 : 0);
    found.push({ path: file, start: byteOffset(sourceFile, start) });
  }
  return found;
}

// What has no name of its own is placed at the word `default`, or where it begins.
function nameOf(declaration) {
  const name = ts.getNameOfDeclaration(declaration);
  if (name) return name;
  if (ts.isPropertyAccessExpression(declaration)) return declaration.name;
  return declaration.modifiers?.find((one) => one.kind === ts.SyntaxKind.DefaultKeyword) ?? declaration;
}

function relative(fileName) {
  if (!fileName.startsWith(`${repository}/`)) return undefined;
  const inside = fileName.slice(repository.length + 1);
  return inside.split("/").includes("node_modules") ? undefined : inside;
}

function isAttribute(node) {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  if (ts.isJsxAttribute(parent)) return parent.name === node;
  const isMember =
    ts.isPropertyAssignment(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isAccessor(parent) ||
    ts.isEnumMember(parent);
  return isMember && parent.name === node;
}
