-- What :VeloSpec why shows: the reason, then the stages that the last request went through, in a small window that
-- goes away with the next move of the cursor.
local M = {}

---@class velospec.Stage
---@field stage string
---@field ms number
---@field note string

-- The lines of the window.
---@param answer { reason: string, stage: string, ms: number, stages: velospec.Stage[] }
---@return string[]
function M.lines(answer)
  local reason = answer.reason ~= '' and answer.reason or 'Something was offered.'
  local lines = { reason, '' }
  for _, stage in ipairs(answer.stages) do
    local mark = answer.reason ~= '' and stage.stage == answer.stage and '>' or ' '
    local line = ('%s %-12s %8.1f ms  %s'):format(mark, stage.stage, stage.ms, stage.note or '')
    lines[#lines + 1] = (line:gsub('%s+$', ''))
  end
  lines[#lines + 1] = ('  %-12s %8.1f ms'):format('in all', answer.ms)
  return lines
end

-- Shows the server's answer to velospec.why; false where it has no stages to show.
---@param answer any
---@return boolean
function M.show(answer)
  if type(answer) ~= 'table' or type(answer.stages) ~= 'table' or #answer.stages == 0 then
    return false
  end
  vim.lsp.util.open_floating_preview(M.lines(answer), 'text', {
    border = 'rounded',
    title = ' Why no suggestion? ',
    focus_id = 'velospec.why',
    max_width = 100,
  })
  return true
end

return M
