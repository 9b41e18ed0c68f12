// Who uses what, by TypeScript's own language service: each line [path, line, column] of standard input names a symbol,
// and is answered by all places of it.
//
//   node bench/truth/uses.mjs PROJECT [FOLDER WITH node_modules/typescript]
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const root = path.resolve(process.argv[2]);
const ts = createRequire(path.join(path.resolve(process.argv[3] ?? root), "/"))("typescript");
const config = path.join(root, "tsconfig.json");
const parsed = ts.parseJsonConfigFileContent(ts.readConfigFile(config, ts.sys.readFile).config, ts.sys, root);
const service = ts.createLanguageService({
  ...ts.sys,
  getCompilationSettings: () => parsed.options,
  getCurrentDirectory: () => root,
  useCaseSensitiveFileNames: () => true,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  getScriptFileNames: () => parsed.fileNames,
  getScriptSnapshot: (name) => {
    const text = ts.sys.readFile(name);
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
  },
  getScriptVersion: () => "1",
});
const program = service.getProgram();

function answer([file, line, column]) {
  const name = path.join(root, file);
  const source = program.getSourceFile(name);
  if (!source) return null;
  const at = ts.getPositionOfLineAndCharacter(source, line - 1, column - 1);
  const places = (service.findReferences(name, at) ?? []).flatMap((one) => one.references);
  return places.map((one) => {
    const spot = program.getSourceFile(one.fileName).getLineAndCharacterOfPosition(one.textSpan.start);
    return [path.relative(root, one.fileName), spot.line + 1, spot.character + 1];
  });
}

for await (const line of readline.createInterface({ input: process.stdin }))
  console.log(JSON.stringify(answer(JSON.parse(line))));
