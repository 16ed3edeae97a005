-- :VeloSpec workspace {what}: what was learned of the workspace that the buffer's file lies in.
local M = {}

local requests = {
  show = function(uri)
    return 'velospec.workspace.show', { uri }
  end,
  stats = function()
    return 'velospec.workspace.stats'
  end,
  forget = function(uri)
    return 'velospec.workspace.forget', { uri }
  end,
  ['forget file'] = function(uri)
    return 'velospec.workspace.forget', { uri, 'file' }
  end,
}

-- What can be asked for, sorted.
---@return string[]
function M.names()
  local names = vim.tbl_keys(requests)
  table.sort(names)
  return names
end

-- The server's command and its arguments; nil where `what` is none of the names. The default is to show.
---@param what string
---@return string?, any[]?
function M.request(what)
  local words = vim.trim(what):gsub('%s+', ' ')
  local request = requests[words == '' and 'show' or words]
  if request then
    return request(vim.uri_from_bufnr(0))
  end
end

return M
