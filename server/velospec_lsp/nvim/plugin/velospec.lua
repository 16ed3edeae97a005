-- Defines :VeloSpec; the module itself is loaded when it is first used.
if vim.g.loaded_velospec then
  return
end
vim.g.loaded_velospec = 1

vim.api.nvim_create_user_command('VeloSpec', function(args)
  require('velospec').command(args.args)
end, {
  nargs = '?',
  desc = 'VeloSpec: status, why, restart, enable, disable',
  complete = function(lead)
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, require('velospec').commands())
  end,
})
