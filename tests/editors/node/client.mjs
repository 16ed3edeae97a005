// Asks a language server for inline completions through the protocol library of VS Code, and prints what
// came as JSON: node client.mjs NODE_MODULES SERVER [ARGUMENT ...]
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, command, ...args] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'package.json'));
const lsp = require('vscode-languageserver-protocol/node');

const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const exited = new Promise((resolve) => server.on('exit', (code, signal) => resolve(signal ?? code)));
const connection = lsp.createProtocolConnection(
  new lsp.StreamMessageReader(server.stdout),
  new lsp.StreamMessageWriter(server.stdin),
);
const faults = [];
connection.onError(([error]) => faults.push(String(error)));
connection.onRequest(lsp.ConfigurationRequest.type, (params) => params.items.map(() => null));
connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, () => null);
connection.onNotification(lsp.ShowMessageNotification.type, (params) => faults.push(params.message));
connection.listen();

const uri = (name) => pathToFileURL(path.join(process.cwd(), name)).href;
const open = (name, text) =>
  connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri: uri(name), languageId: 'python', version: 1, text },
  });
const ask = (name, line, character, token) =>
  connection.sendRequest(
    lsp.InlineCompletionRequest.type,
    {
      textDocument: { uri: uri(name) },
      position: { line, character },
      context: { triggerKind: lsp.InlineCompletionTriggerKind.Invoked },
    },
    token,
  );
const items = (result) => result?.items ?? result;

const report = {};
const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: process.pid,
  rootUri: uri(''),
  workspaceFolders: [{ uri: uri(''), name: 'work' }],
  capabilities: {
    general: { positionEncodings: ['utf-16'] },
    window: { workDoneProgress: true },
    workspace: { configuration: true, workspaceFolders: true },
    textDocument: { synchronization: {}, inlineCompletion: {} },
  },
  initializationOptions: { manualBudgetMs: 60000 },
});
report.encoding = initialized.capabilities.positionEncoding;
report.provider = initialized.capabilities.inlineCompletionProvider;
await connection.sendNotification(lsp.InitializedNotification.type, {});

const head = 'faces = ["😋é"]\n\n\ndef first_face(faces):\n    ret';
await open('faces.py', head);
report.first = items(await ask('faces.py', 4, 7));

// Edits behind a face (two UTF-16 units), then a request at once: the answer is for the text after them.
await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
  textDocument: { uri: uri('faces.py'), version: 2 },
  contentChanges: [
    { range: { start: { line: 0, character: 12 }, end: { line: 0, character: 15 } }, text: 'é"]  # 😋' },
    { range: { start: { line: 4, character: 4 }, end: { line: 4, character: 7 } }, text: '"😋"; return fa' },
    { range: { start: { line: 4, character: 8 }, end: { line: 4, character: 8 } }, text: ' ' },
  ],
});
report.afterSurrogates = items(await ask('faces.py', 4, 20));
report.text = await connection.sendRequest('velospec/text', { uri: uri('faces.py') });

// A long prompt, so that the answer takes a while; cancelled on its way.
const body = Array.from({ length: 150 }, (_, i) => `def value_${i}(x):\n    return x * ${i}\n`).join('\n');
await open('long.py', `${body}\n\ndef total(values):\n    `);
const source = new lsp.CancellationTokenSource();
const started = performance.now();
const cancelled = ask('long.py', 452, 4, source.token).then(
  (result) => ({ result: items(result) }),
  (error) => ({ code: error.code }),
);
setTimeout(() => source.cancel(), 50);
report.cancelled = await cancelled;
report.cancelledAfterMs = performance.now() - started;
report.afterCancel = items(await ask('faces.py', 4, 20));

await connection.sendRequest(lsp.ShutdownRequest.type);
await connection.sendNotification(lsp.ExitNotification.type);
report.exit = await exited;
report.faults = faults;
console.log(JSON.stringify(report));
connection.dispose();
