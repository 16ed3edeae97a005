-- Default configuration of the language server, found by vim.lsp.enable('velospec').
---@type vim.lsp.Config
return {
  cmd = { 'velospec-lsp', '--stdio' },
  root_markers = { '.git' },
}
