-- :checkhealth velospec
local M = {}

function M.check()
  local health = vim.health
  health.start('VeloSpec')

  local missing = require('velospec').missing()
  if missing then
    health.error(missing)
    return
  end
  health.ok('Neovim ' .. tostring(vim.version()) .. ' has inline completion')

  local config = vim.lsp.config.velospec
  local cmd = config and config.cmd
  if type(cmd) ~= 'table' then
    health.warn('vim.lsp.config.velospec has no command', { "call require('velospec').setup()" })
  elseif vim.fn.executable(cmd[1]) == 0 then
    health.error(cmd[1] .. ' is not executable', {
      'install VeloSpec, or name the program: '
        .. "require('velospec').setup({ cmd = { '/full/path/velospec-lsp', '--stdio' } })",
    })
  else
    local result = vim.system({ cmd[1], '--version' }, { text = true }):wait(10000)
    if result.code == 0 then
      health.ok(vim.fn.exepath(cmd[1]) .. ': ' .. vim.trim(result.stdout or ''))
    else
      health.error(cmd[1] .. ' --version failed: ' .. vim.trim(result.stderr or ''))
    end
  end

  local clients = vim.lsp.get_clients({ name = 'velospec' })
  if #clients == 0 then
    health.info('no server runs; open a file')
  end
  for _, client in ipairs(clients) do
    local buffers = vim.tbl_count(client.attached_buffers)
    health.ok(('server %d serves %d buffer(s), position encoding %s'):format(client.id, buffers, client.offset_encoding))
  end
end

return M
