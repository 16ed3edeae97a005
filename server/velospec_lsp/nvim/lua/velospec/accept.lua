-- Taking the offered text into the buffer: all of it, or its next word or line.
--
-- Neovim keeps an item as it was when the answer came. What the user typed since then is in the buffer
-- already, so the item's range is grown up to the cursor first; an item that the typed text contradicts
-- is dropped. The server learns of partial acceptance from the change itself.
local M = {}

-- The corners of a vim.Range, 0-based bytes.
local function corners(range)
  if range.start_row then
    return range.start_row, range.start_col, range.end_row, range.end_col
  end
  return range.start.row, range.start.col, range.end_.row, range.end_.col
end

-- The part of `text` that one key accepts: leading white space and a word, or one run of other marks.
---@param text string
---@return string
function M.word(text)
  local space, rest = text:match('^(%s*)(.*)$')
  local word = rest:match('^[%w_\128-\255]+') or rest:match('^[^%w_%s\128-\255]+') or ''
  return space .. word
end

-- The first line of `text`; where that is empty, the line break and the line after it.
---@param text string
---@return string
function M.line(text)
  return text:match('^\n*[^\n]*')
end

local closers = { ['('] = ')', ['['] = ']', ['{'] = '}' }

-- The closers of what `text` leaves open, the last one first, and how many closers in it close nothing.
local function balance(text)
  local open, unopened = '', 0
  for bracket in text:gmatch('[][(){}]') do
    if closers[bracket] then
      open = closers[bracket] .. open
    elseif open:sub(1, 1) == bracket then
      open = open:sub(2)
    else
      unopened = unopened + 1
    end
  end
  return open, unopened
end

-- How many closers in `behind` the editor has put there for what the user `typed` since the answer, and the
-- `rest` brings as well: the item's range knows nothing of them.
local function doubled(typed, rest, behind)
  local open = balance(typed)
  local _, unopened = balance(rest)
  local count = 0
  while count < math.min(#open, unopened) and behind:byte(count + 1) == open:byte(count + 1) do
    count = count + 1
  end
  return count
end

-- Splits an item at the cursor.
---@param item vim.lsp.inline_completion.Item
---@return string? rest  what is still to insert at the cursor; nil when the buffer no longer fits
---@return integer? tail column where the item's range ends on the cursor's line (0-based, exclusive)
local function remaining(item)
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  row = row - 1
  if not item.range then
    return item.insert_text, col
  end
  local start_row, start_col, end_row, end_col = corners(item.range)
  if start_row ~= row or end_row ~= row or start_col > col then
    return nil
  end
  local typed = vim.api.nvim_buf_get_text(0, row, start_col, row, col, {})[1]
  if not vim.startswith(item.insert_text, typed) then
    return nil
  end
  local rest = item.insert_text:sub(#typed + 1)
  local behind = vim.api.nvim_get_current_line():sub(col + 1)
  return rest, math.max(end_col, col + doubled(typed, rest, behind))
end

-- Has the next change begin an undo block: setting the option does so, even to the value that it has.
local function break_undo()
  vim.go.undolevels = vim.go.undolevels
end

local function put(text, tail)
  break_undo() -- one undo takes back what was accepted, and not what was typed before
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_text(0, row - 1, col, row - 1, tail, lines)
  vim.api.nvim_win_set_cursor(0, { row + #lines - 1, (#lines == 1 and col or 0) + #lines[#lines] })
end

-- Hands what is shown to `use` and takes it off the screen; false when nothing is shown.
--
-- Neovim puts `use` off until the mapping has ended. Keys that are typed ahead would come before it, and land
-- in front of the accepted text, so it is waited for here: the second function runs right after Neovim's.
---@param use fun(item: vim.lsp.inline_completion.Item): vim.lsp.inline_completion.Item?
---@return boolean
local function take(use)
  if not vim.lsp.inline_completion.get({ on_accept = use }) then
    return false
  end
  local done = false
  vim.schedule(function()
    done = true
  end)
  vim.wait(1000, function()
    return done
  end, 1)
  return true
end

-- Accepts what is shown, cut by `part`; false when nothing is shown.
---@param part? fun(text: string): string  default: all of it
---@return boolean
function M.accept(part)
  return take(function(item)
    if type(item.insert_text) ~= 'string' then
      return item -- a snippet: Neovim expands it
    end
    local rest, tail = remaining(item)
    if not rest then
      return nil
    end
    local chosen = part and part(rest) or rest
    if chosen ~= rest then
      local col = vim.api.nvim_win_get_cursor(0)[2]
      put(chosen, col)
      return nil
    end
    put(rest, tail)
    local client = item.command and vim.lsp.get_client_by_id(item.client_id)
    if client then
      client:exec_cmd(item.command, { bufnr = vim.api.nvim_get_current_buf() })
    end
  end)
end

-- Hides what is shown; false when nothing is.
---@return boolean
function M.dismiss()
  return take(function()
    return nil
  end)
end

return M
