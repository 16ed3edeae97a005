-- The insert-mode keys. A key that has nothing to act on does what it did before.
local accept = require('velospec.accept')

local M = {}

local function feed(keys, mode)
  vim.api.nvim_feedkeys(vim.keycode(keys), mode, false)
end

-- Plays the mapping that ours replaced, or the plain key. It goes in front of what is typed ahead.
---@param key string
---@param before table<string, any>  maparg()'s dictionary, empty when there was no mapping
local function play(key, before)
  if vim.tbl_isempty(before) then
    feed(key, 'in')
  elseif before.callback then
    local keys = before.callback()
    if before.expr == 1 and type(keys) == 'string' then
      feed(keys, 'in')
    end
  elseif before.expr == 1 then
    feed(vim.api.nvim_eval(before.rhs), before.noremap == 1 and 'in' or 'im')
  else
    feed(before.rhs, before.noremap == 1 and 'in' or 'im')
  end
end

-- An entry picked in the popup menu is what the user looks at; the key belongs to it.
local function menu_has_choice()
  return vim.fn.pumvisible() == 1 and vim.fn.complete_info({ 'selected' }).selected >= 0
end

---@type table<string, { run: (fun(): boolean), desc: string }>
local actions = {
  accept = { run = accept.accept, desc = 'Accept the completion' },
  accept_word = {
    run = function()
      return accept.accept(accept.word)
    end,
    desc = "Accept the completion's next word",
  },
  accept_line = {
    run = function()
      return accept.accept(accept.line)
    end,
    desc = "Accept the completion's next line",
  },
  dismiss = {
    run = function()
      return accept.dismiss()
    end,
    desc = 'Dismiss the completion',
  },
  next = {
    run = function()
      vim.lsp.inline_completion.select()
      return true
    end,
    desc = 'Show the next completion',
  },
}

-- The mappings we replaced, so that a second setup() does not take our own for the user's.
---@type table<string, table<string, any>>
local replaced = {}

-- Maps each named action to its key; false maps nothing.
---@param keys table<string, string|false>
function M.map(keys)
  for key, before in pairs(replaced) do
    vim.keymap.del('i', key)
    if not vim.tbl_isempty(before) then
      vim.fn.mapset('i', false, before)
    end
  end
  replaced = {}
  for name, key in pairs(keys) do
    if key then
      local before = vim.fn.maparg(key, 'i', false, true)
      -- A buffer's own mapping wins over ours there, and is not what to play elsewhere.
      before = before.buffer == 1 and {} or before
      replaced[key] = before
      vim.keymap.set('i', key, function()
        if menu_has_choice() or not actions[name].run() then
          play(key, before)
        end
      end, { desc = 'VeloSpec: ' .. actions[name].desc })
    end
  end
end

return M
