-- The edits by the chat model: what of the buffer they are about, and an instruction where none was given.
--
-- The server makes the edit, shows why it made none, and tells how far it is by Neovim's own progress.
local M = {}

-- The commands by the names that :VeloSpec knows.
local commands = {
  edit = 'velospec.edit',
  docstring = 'velospec.docstring',
  ['rename-suggest'] = 'velospec.rename-suggest',
}

local function request(client, command, given, bufnr)
  client:request('workspace/executeCommand', { command = command, arguments = { given } }, function(err)
    if err and err.code ~= vim.lsp.protocol.ErrorCodes.RequestCancelled then
      vim.notify(err.message, vim.log.levels.ERROR, { title = 'VeloSpec' })
    end
  end, bufnr)
end

local function with_instruction(given, run)
  if given.instruction and vim.trim(given.instruction) ~= '' then
    run(given)
    return
  end
  vim.ui.input({ prompt = 'What to do: ' }, function(text)
    if text and vim.trim(text) ~= '' then
      run(vim.tbl_extend('force', given, { instruction = text }))
    end
  end)
end

-- The lines from `first` to `last`, or what of them was selected by characters.
---@param client vim.lsp.Client
---@param first integer  from 1
---@param last integer
---@return lsp.Range
local function range_of(client, first, last)
  local from, to = vim.api.nvim_buf_get_mark(0, '<'), vim.api.nvim_buf_get_mark(0, '>')
  if vim.fn.visualmode() == 'v' and from[1] == first and to[1] == last then
    return vim.lsp.util.make_given_range_params(from, to, 0, client.offset_encoding).range
  end
  return { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } }
end

-- The names of the edits.
---@return string[]
function M.names()
  return vim.tbl_keys(commands)
end

-- Has the server make one edit.
---@param client vim.lsp.Client
---@param name string  one of `names()`
---@param instruction string  may be empty
---@param lines? { first: integer, last: integer }  the range that the command was given
function M.run(client, name, instruction, lines)
  local bufnr = vim.api.nvim_get_current_buf()
  local position = vim.lsp.util.make_position_params(0, client.offset_encoding).position
  local given = { uri = vim.uri_from_bufnr(bufnr), position = position }
  if lines then
    given.range = range_of(client, lines.first, lines.last)
  end
  if name ~= 'edit' then
    request(client, commands[name], given, bufnr)
    return
  end
  given.instruction = instruction
  with_instruction(given, function(complete)
    request(client, commands.edit, complete, bufnr)
  end)
end

-- Takes the code action that has no instruction yet: Neovim can ask for one.
function M.take_actions()
  vim.lsp.commands[commands.edit] = function(command, context)
    local client = vim.lsp.get_client_by_id(context.client_id)
    if client then
      with_instruction(command.arguments[1], function(complete)
        request(client, commands.edit, complete, context.bufnr)
      end)
    end
  end
end

-- What the server is told of this editor, so that it offers that action.
M.capabilities = { experimental = { velospec = { asksInstruction = true } } }

return M
