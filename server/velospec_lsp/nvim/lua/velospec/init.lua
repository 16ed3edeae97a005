-- VeloSpec in Neovim 0.12: starts the language server, shows its completions as ghost text, maps the keys.
--
--   require('velospec').setup({
--     keys = { accept = '<Tab>' },   -- a key, or false for none; see the defaults below
--     settings = { ... },            -- the server's settings, as docs/editors.md lists them
--     cmd = { 'velospec-lsp', '--stdio' },
--     filetypes = nil,               -- nil: every file
--   })
--
-- It knows no model and no decoding; all it does, it does through Neovim's own LSP client.
local edit = require('velospec.edit')

local M = {}

---@class velospec.Options
---@field cmd? string[]  the server's command
---@field filetypes? string[]  where to complete; nil for every file
---@field keys? table<string, string|false>  see `defaults`
---@field settings? table<string, any>  the server's settings

---@type velospec.Options
local defaults = {
  keys = {
    accept = '<Tab>',
    accept_word = '<M-Right>',
    accept_line = '<M-C-Right>',
    dismiss = '<C-]>',
    next = '<M-]>',
  },
}

-- The last velospec/status notification of each server, by client id.
---@type table<integer, { kind: string, message: string }>
local status = {}

-- What this Neovim lacks; nil when it has all.
---@return string?
function M.missing()
  if vim.lsp and vim.lsp.inline_completion and vim.lsp.config and vim.lsp.enable then
    return nil
  end
  local version = vim.fn.matchstr(vim.fn.execute('version'), 'NVIM v[0-9.]*')
  return ('VeloSpec needs Neovim 0.12 or later (vim.lsp.inline_completion is missing in %s)'):format(version)
end

local function say(message, level)
  vim.notify(message, level or vim.log.levels.INFO, { title = 'VeloSpec' })
end

---@return vim.lsp.Client?
local function client_here()
  return vim.lsp.get_clients({ name = 'velospec', bufnr = 0 })[1] or vim.lsp.get_clients({ name = 'velospec' })[1]
end

local function validate(options)
  vim.validate('options', options, 'table')
  vim.validate('cmd', options.cmd, 'table', true)
  vim.validate('filetypes', options.filetypes, 'table', true)
  vim.validate('settings', options.settings, 'table', true)
  vim.validate('keys', options.keys, 'table', true)
  for name in pairs(options) do
    if not vim.list_contains({ 'cmd', 'filetypes', 'settings', 'keys' }, name) then
      error(("velospec: setup() has no option '%s'"):format(name), 3)
    end
  end
  for name, key in pairs(options.keys or {}) do
    if defaults.keys[name] == nil then
      error(("velospec: there is no key named '%s'"):format(name), 3)
    end
    vim.validate('keys.' .. name, key, function(value)
      return value == false or (type(value) == 'string' and value ~= '')
    end, 'a key or false')
  end
end

local function configure(options)
  vim.lsp.config('velospec', {
    cmd = options.cmd or { 'velospec-lsp', '--stdio' },
    filetypes = options.filetypes,
    root_markers = { '.git' },
    init_options = options.settings,
    settings = { velospec = options.settings },
    capabilities = edit.capabilities,
    handlers = {
      ['velospec/status'] = function(_, params, context)
        status[context.client_id] = params
        vim.cmd.redrawstatus({ bang = true })
      end,
    },
    on_exit = function(_, _, client_id)
      status[client_id] = nil
    end,
  })
  edit.take_actions()
  vim.lsp.enable('velospec')
  vim.lsp.inline_completion.enable()
end

-- Starts the server for the files that are open and those to come. Call it once, from init.lua.
---@param options? velospec.Options
---@return boolean  false, with a message, where Neovim is too old
function M.setup(options)
  local missing = M.missing()
  if missing then
    say(missing, vim.log.levels.ERROR)
    return false
  end
  options = options or {}
  validate(options)
  configure(options)
  require('velospec.keys').map(vim.tbl_extend('force', defaults.keys, options.keys or {}))
  return true
end

-- For the status line: %{v:lua.require'velospec'.statusline()}. Empty where no server serves this buffer.
---@return string
function M.statusline()
  local client = vim.lsp.get_clients({ name = 'velospec', bufnr = 0 })[1]
  if not client then
    return ''
  end
  if not vim.lsp.inline_completion.is_enabled({ bufnr = 0 }) then
    return 'VeloSpec off'
  end
  local last = status[client.id]
  if not last or last.kind == 'ready' or not last.message or last.message == '' then
    return 'VeloSpec'
  end
  return 'VeloSpec: ' .. last.message
end

-- The server's client; nil, with a message, where none runs.
local function running_client()
  local client = client_here()
  if not client then
    say('no VeloSpec server runs; open a file, or see :checkhealth velospec', vim.log.levels.WARN)
  end
  return client
end

-- Asks the server for `command` and shows its answer, by `show` if that can.
---@param show? fun(answer: any): boolean
local function ask(command, arguments, show)
  local client = running_client()
  if not client then
    return
  end
  client:request('workspace/executeCommand', { command = command, arguments = arguments }, function(err, result)
    if err then
      say(err.message, vim.log.levels.ERROR)
    elseif show and show(result) then
      return
    elseif type(result) == 'string' then
      say(result)
    elseif result ~= nil and result ~= vim.NIL then
      say(type(result.text) == 'string' and result.text or vim.inspect(result))
    end
  end, vim.api.nvim_get_current_buf())
end

local commands = {
  status = function()
    ask('velospec.status')
  end,
  why = function()
    ask('velospec.why', { vim.uri_from_bufnr(0) }, require('velospec.why').show)
  end,
  restart = function()
    ask('velospec.restart')
  end,
  workspace = function(what)
    local workspace = require('velospec.workspace')
    local command, arguments = workspace.request(what)
    if command then
      ask(command, arguments)
    else
      local names = table.concat(workspace.names(), ', ')
      say(("VeloSpec: no command 'workspace %s'; there are %s"):format(what, names), vim.log.levels.ERROR)
    end
  end,
  enable = function()
    vim.lsp.inline_completion.enable(true, { bufnr = 0 })
  end,
  disable = function()
    vim.lsp.inline_completion.enable(false, { bufnr = 0 })
  end,
}

-- The names :VeloSpec understands, sorted.
---@return string[]
function M.commands()
  local names = vim.list_extend(vim.tbl_keys(commands), edit.names())
  table.sort(names)
  return names
end

-- :VeloSpec {name} {instruction}; status when no name is given.
---@param text string
---@param lines? { first: integer, last: integer }  the range that the command was given
function M.command(text, lines)
  local missing = M.missing()
  if missing then
    say(missing, vim.log.levels.ERROR)
    return
  end
  local name, instruction = text:match('^(%S*)%s*(.*)$')
  local run = commands[name == '' and 'status' or name]
  if run then
    run(instruction)
  elseif vim.list_contains(edit.names(), name) then
    local client = running_client()
    if client then
      edit.run(client, name, instruction, lines)
    end
  else
    say(("VeloSpec: no command '%s'; there are %s"):format(name, table.concat(M.commands(), ', ')), vim.log.levels.ERROR)
  end
end

return M
